//! What packets on their way take of memory.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use crate::{connect, sleep_until};

/// 1 Gbit/s held for 350 ms: the wire's memory.
pub fn memory() {
    let (a, _b, wire) = connect(&["--delay", "350ms", "--offloads"]);
    let pid = wire.child.id();
    let highest = a.run(move || {
        let socket = UdpSocket::bind("198.18.0.1:0").expect("a socket");
        socket.connect("198.18.0.2:7000").expect("an address");
        let (start, mut highest) = (Instant::now(), 0u64);
        let gap = Duration::from_secs_f64(1514.0 * 8.0 / 1e9);
        for number in 0.. {
            sleep_until(start + gap * (number / 16 * 16));
            if start.elapsed() > Duration::from_secs(2) {
                break;
            }
            let _ = socket.send(&[0; 1472]);
            if number % 8192 == 0 {
                let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it");
                let line = status
                    .lines()
                    .find(|line| line.starts_with("VmRSS"))
                    .expect("RSS");
                let kib = line
                    .split_whitespace()
                    .nth(1)
                    .expect("a number")
                    .parse()
                    .expect("a number");
                highest = highest.max(kib);
            }
        }
        highest
    });
    std::thread::sleep(Duration::from_millis(500));
    let (end, _) = wire.end();
    println!(
        "{{\"case\":\"memory\",\"highest_mb\":{:.1},\"delivered\":{},\"received\":{},\"overrun\":{},\"ring_full\":{}}}",
        highest as f64 * 1024.0 / 1e6,
        end["a_to_b"]["delivered_packets"],
        end["a_to_b"]["received_packets"],
        end["a_to_b"]["overrun_packets"],
        end["a_to_b"]["ring_full_packets"]
    );
}
