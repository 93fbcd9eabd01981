//! What the wire itself can do, by its own packet generator: JSON lines. Needs root.
//!
//!     cargo run --release -p culvert-wire --example measure -- [CASE]
//!
//! Sockets in two namespaces, a cable between them. Figures are of what arrived.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[path = "../tests/support/mod.rs"]
#[allow(dead_code)]
mod support;
use support::{Node, Wire};

const SECONDS: u64 = 4;
const LENGTH: Duration = Duration::from_secs(SECONDS);

fn main() {
    let only = std::env::args().nth(1).unwrap_or_default();
    let cases: [(&str, fn()); 11] = [
        ("tcp-offloads", || tcp("tcp-offloads", &["--offloads"])),
        ("tcp-per-packet", || tcp("tcp-per-packet", &[])),
        ("tcp-loss", || {
            tcp("tcp-loss", &["--offloads", "--loss", "0.25%"])
        }),
        ("udp-single", || udp("udp-single", 36, 1, None)),
        ("udp-super", || udp("udp-super", 36, 64, None)),
        ("udp-single-half", || {
            udp(
                "udp-single-half",
                36,
                1,
                Some(Duration::from_secs(64) / 150_000),
            )
        }),
        ("udp-super-half", || {
            udp(
                "udp-super-half",
                36,
                64,
                Some(Duration::from_secs(64) / 1_500_000),
            )
        }),
        ("rtt", rtt),
        ("delay", delay),
        ("rate", rate),
        ("memory", memory),
    ];
    for (name, case) in cases {
        if only.is_empty() || name == only {
            case();
        }
    }
}

fn connect(options: &[&str]) -> (Node, Node, Wire) {
    let (a, b) = (Node::make().expect("root"), Node::make().expect("root"));
    let wire = Wire::connect(&a, &b, options);
    a.address("u0", "198.18.0.1".parse().expect("an address"));
    b.address("u0", "198.18.0.2".parse().expect("an address"));
    (a, b, wire)
}

/// Wait without using the processor that the wire needs.
fn sleep_until(when: Instant) {
    let left = when.saturating_duration_since(Instant::now());
    if !left.is_zero() {
        std::thread::sleep(left);
    }
}

/// CPU seconds of a process.
fn cpu_s(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .expect("fields")
        .split_whitespace()
        .collect();
    (fields[11].parse::<f64>().expect("ticks") + fields[12].parse::<f64>().expect("ticks")) / 100.0
}

fn option<T>(socket: &impl AsRawFd, level: i32, name: i32, value: T) -> bool {
    // SAFETY: the value is as long as it is said to be.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    result == 0
}

fn tcp(name: &str, options: &[&str]) {
    let (a, b, wire) = connect(options);
    let listener = b.run(|| TcpListener::bind("198.18.0.2:7000").expect("a listener"));
    let receiver = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut buffer = vec![0; 1 << 20];
        let (start, mut bytes) = (Instant::now(), 0u64);
        while let Ok(read) = stream.read(&mut buffer) {
            if read == 0 {
                break;
            }
            bytes += read as u64;
        }
        bytes as f64 * 8.0 / start.elapsed().as_secs_f64()
    });
    let before = cpu_s(wire.child.id());
    a.run(|| {
        let mut stream = TcpStream::connect("198.18.0.2:7000").expect("a connection");
        option(&stream, libc::IPPROTO_TCP, libc::TCP_CONGESTION, *b"cubic");
        let data = vec![0; 1 << 18];
        let start = Instant::now();
        while start.elapsed() < LENGTH {
            stream.write_all(&data).expect("it is taken");
        }
    });
    let bps = receiver.join().expect("the receiver");
    let cpu = cpu_s(wire.child.id()) - before;
    let (end, _) = wire.end();
    println!(
        "{{\"case\":\"{name}\",\"gbps\":{:.3},\"wire_cpu_s\":{cpu:.2},\"ab\":{}}}",
        bps / 1e9,
        end["a_to_b"]
    );
}

/// UDP payloads of `bytes` by sendmmsg, `segments` to a message by UDP_SEGMENT; `pause` is the time of
/// 64 packets, without it as fast as it goes.
fn udp(name: &str, bytes: usize, segments: usize, pause: Option<Duration>) {
    let (a, b, mut wire) = connect(&["--offloads", "--interval-ms", "100000"]);
    let receiver = b.run(|| UdpSocket::bind("198.18.0.2:7000").expect("a socket"));
    option(&receiver, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 64 << 20);
    // as a receiver that keeps up does it: whole trains of datagrams
    option(&receiver, libc::IPPROTO_UDP, libc::UDP_GRO, 1);
    receiver
        .set_read_timeout(Some(Duration::from_millis(500)))
        .expect("a deadline");
    let done = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&done);
    let counting = std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        let (mut received, mut first, mut last) = (0u64, None, Instant::now());
        loop {
            match receiver.recv(&mut buffer) {
                Ok(length) => {
                    received += (length / bytes) as u64;
                    last = Instant::now();
                    first.get_or_insert(last);
                }
                Err(_) if stop.load(Ordering::Relaxed) => break,
                Err(_) => {}
            }
        }
        (
            received,
            first.map_or(1.0, |first| (last - first).as_secs_f64()),
        )
    });
    let before = cpu_s(wire.child.id());
    let sent = a.run(move || {
        let socket = UdpSocket::bind("198.18.0.1:0").expect("a socket");
        socket.connect("198.18.0.2:7000").expect("an address");
        if segments > 1 {
            option(&socket, libc::IPPROTO_UDP, libc::UDP_SEGMENT, bytes as i32);
        }
        let data = vec![0; bytes * segments];
        // SAFETY: zeros are valid for these structures, and they point at what outlives them.
        unsafe {
            let mut part = libc::iovec {
                iov_base: data.as_ptr().cast_mut().cast(),
                iov_len: data.len(),
            };
            let mut one: libc::mmsghdr = std::mem::zeroed();
            one.msg_hdr.msg_iov = &raw mut part;
            one.msg_hdr.msg_iovlen = 1;
            let mut many = vec![one; 64];
            let (start, mut sent) = (Instant::now(), 0u64);
            while start.elapsed() < LENGTH {
                let result = libc::sendmmsg(socket.as_raw_fd(), many.as_mut_ptr(), 64, 0);
                sent += result.max(0) as u64 * segments as u64;
                if let Some(pause) = pause {
                    sleep_until(start + pause * (sent / 64) as u32);
                }
            }
            sent
        }
    });
    done.store(true, Ordering::Relaxed);
    let (received, seconds) = counting.join().expect("the receiver");
    let cpu = cpu_s(wire.child.id()) - before;
    drop(wire.child.stdin.take());
    let (end, _) = wire.end();
    println!(
        "{{\"case\":\"{name}\",\"sent_mpps\":{:.3},\"received_mpps\":{:.3},\"delivered_mpps\":{:.3},\"wire_cpu_s\":{cpu:.2},\"ab\":{}}}",
        sent as f64 / SECONDS as f64 / 1e6,
        received as f64 / seconds / 1e6,
        end["a_to_b"]["delivered_packets"]
            .as_f64()
            .expect("a count")
            / SECONDS as f64
            / 1e6,
        end["a_to_b"]
    );
}

fn percentile(sorted: &[u64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share) as usize] as f64 / 1000.0
}

/// Microseconds of a UDP ping-pong through a cable with no impairment.
fn rtt() {
    let (a, b, wire) = connect(&["--offloads"]);
    let echo = b.run(|| UdpSocket::bind("198.18.0.2:7000").expect("a socket"));
    std::thread::spawn(move || {
        let mut buffer = [0; 64];
        while let Ok((length, from)) = echo.recv_from(&mut buffer) {
            let _ = echo.send_to(&buffer[..length], from);
        }
    });
    let mut times = a.run(|| {
        let socket = UdpSocket::bind("198.18.0.1:0").expect("a socket");
        socket.connect("198.18.0.2:7000").expect("an address");
        socket
            .set_read_timeout(Some(Duration::from_secs(1)))
            .expect("a deadline");
        let mut times = Vec::new();
        for _ in 0..20_000 {
            let start = Instant::now();
            socket.send(&[0; 36]).expect("sent");
            if socket.recv(&mut [0; 64]).is_ok() {
                times.push(start.elapsed().as_nanos() as u64);
            }
        }
        times
    });
    times.sort_unstable();
    println!(
        "{{\"case\":\"rtt\",\"p50_us\":{:.1},\"p99_us\":{:.1}}}",
        percentile(&times, 0.5),
        percentile(&times, 0.99)
    );
    drop(wire);
}

/// One way, at 10,000 packets a second, through 50 ms: how far from it they are.
fn delay() {
    let (a, b, wire) = connect(&["--delay", "50ms"]);
    let receiver = b.run(|| UdpSocket::bind("198.18.0.2:7000").expect("a socket"));
    receiver
        .set_read_timeout(Some(Duration::from_secs(1)))
        .expect("a deadline");
    let origin = Instant::now();
    let counting = std::thread::spawn(move || {
        let (mut errors, mut buffer) = (Vec::new(), [0; 64]);
        while receiver.recv(&mut buffer).is_ok() {
            let now = origin.elapsed().as_nanos() as u64;
            let sent = u64::from_ne_bytes(buffer[..8].try_into().expect("eight"));
            errors.push(now - sent - 50_000_000);
        }
        errors
    });
    a.run(move || {
        let _ = nix::sys::prctl::set_timerslack(1);
        let socket = UdpSocket::bind("198.18.0.1:0").expect("a socket");
        socket.connect("198.18.0.2:7000").expect("an address");
        for number in 0..20_000u32 {
            sleep_until(origin + Duration::from_micros(100) * number);
            let now = origin.elapsed().as_nanos() as u64;
            socket.send(&now.to_ne_bytes()).expect("sent");
        }
    });
    let errors = counting.join().expect("the receiver");
    // without the first fifth of a second, in which packets wait for the address to be resolved
    let mut errors = errors[2_000..].to_vec();
    errors.sort_unstable();
    println!(
        "{{\"case\":\"delay\",\"packets\":{},\"error_p50_us\":{:.1},\"error_p99_us\":{:.1}}}",
        errors.len(),
        percentile(&errors, 0.5),
        percentile(&errors, 0.99)
    );
    drop(wire);
}

/// A flood through a rate: what arrives over all, and in the fullest 10 ms.
fn rate() {
    for (text, bps) in [("100Mbit/s", 1e8), ("1Gbit/s", 1e9)] {
        let (a, b, wire) = connect(&["--rate", text]);
        let receiver = b.run(|| UdpSocket::bind("198.18.0.2:7000").expect("a socket"));
        option(&receiver, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 64 << 20);
        receiver
            .set_read_timeout(Some(Duration::from_secs(1)))
            .expect("a deadline");
        let counting = std::thread::spawn(move || {
            let (mut times, mut buffer) = (Vec::new(), [0; 2048]);
            while receiver.recv(&mut buffer).is_ok() {
                times.push(Instant::now());
            }
            times
        });
        a.run(move || {
            let socket = UdpSocket::bind("198.18.0.1:0").expect("a socket");
            socket.connect("198.18.0.2:7000").expect("an address");
            let start = Instant::now();
            let gap = Duration::from_secs_f64(1514.0 * 8.0 / (bps * 1.05));
            for number in 0.. {
                sleep_until(start + gap * (number / 16 * 16));
                if start.elapsed() > LENGTH {
                    break;
                }
                socket.send(&[0; 1472]).expect("sent");
            }
        });
        let times = counting.join().expect("the receiver");
        // without the first tenth, in which the queue fills
        let times = &times[times.len() / 10..];
        let seconds = (*times.last().expect("some") - times[0]).as_secs_f64();
        let mean = (times.len() - 1) as f64 * 1514.0 * 8.0 / seconds;
        let mut first = 0;
        let mut most = 0;
        for last in 0..times.len() {
            while times[last] - times[first] > Duration::from_millis(10) {
                first += 1;
            }
            most = most.max(last - first);
        }
        let (end, _) = wire.end();
        println!(
            "{{\"case\":\"rate\",\"asked_bps\":{bps},\"error_percent\":{:.4},\"fullest_10ms_packets\":{most},\"allowed\":{:.1},\"ring_full\":{}}}",
            (mean / bps - 1.0) * 100.0,
            bps / 100.0 / (1514.0 * 8.0) + 1.0,
            end["a_to_b"]["ring_full_packets"],
        );
    }
}

/// 1 Gbit/s held for 350 ms: the wire's memory.
fn memory() {
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
