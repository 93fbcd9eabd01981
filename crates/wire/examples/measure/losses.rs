//! Which packets are lost: 1 % of 1,000,000, twice with one seed.

use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use crate::floods::option;
use crate::{connect, sleep_until};

const PACKETS: u32 = 1_000_000;
const BYTES: usize = 36;
const SEGMENTS: u32 = 50;
/// Slow enough for any receiver.
const GAP: Duration = Duration::from_nanos(4_000);

pub fn loss() {
    let (first, second) = (lost(), lost());
    println!(
        "{{\"case\":\"loss\",\"packets\":{PACKETS},\"lost\":{},\"same_again\":{}}}",
        first.len(),
        first == second
    );
}

/// The numbers of those that did not arrive.
fn lost() -> BTreeSet<u32> {
    let (a, b, wire) = connect(&["--offloads", "--loss", "1%", "--seed", "7"]);
    let receiver = b.run(|| UdpSocket::bind("198.18.0.2:7000").expect("a socket"));
    option(&receiver, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 256 << 20);
    option(&receiver, libc::IPPROTO_UDP, libc::UDP_GRO, 1);
    receiver
        .set_read_timeout(Some(Duration::from_secs(2)))
        .expect("a deadline");
    let receiving = std::thread::spawn(move || {
        let mut missing: BTreeSet<u32> = (0..PACKETS).collect();
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length) = receiver.recv(&mut buffer) {
            for packet in buffer[..length].chunks_exact(BYTES) {
                missing.remove(&u32::from_ne_bytes(
                    packet[..4].try_into().expect("a number"),
                ));
            }
        }
        missing
    });
    a.run(|| {
        let socket = UdpSocket::bind("198.18.0.1:0").expect("a socket");
        socket.connect("198.18.0.2:7000").expect("an address");
        option(&socket, libc::IPPROTO_UDP, libc::UDP_SEGMENT, BYTES as i32);
        let start = Instant::now();
        for first in (0..PACKETS).step_by(SEGMENTS as usize) {
            sleep_until(start + GAP * first);
            let mut data = vec![0; BYTES * SEGMENTS as usize];
            for (number, packet) in (first..).zip(data.chunks_exact_mut(BYTES)) {
                packet[..4].copy_from_slice(&number.to_ne_bytes());
            }
            socket.send(&data).expect("sent");
        }
    });
    let missing = receiving.join().expect("the receiver");
    let (end, _) = wire.end();
    assert_eq!(
        end["a_to_b"]["ring_full_packets"], 0,
        "the machine is too busy"
    );
    missing
}
