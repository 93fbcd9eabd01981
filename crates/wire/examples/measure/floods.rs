//! As much as goes through: TCP, and UDP in single packets and in super-packets.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::{LENGTH, connect, sleep_until};

/// CPU seconds of a process.
pub fn cpu_s(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .expect("fields")
        .split_whitespace()
        .collect();
    (fields[11].parse::<f64>().expect("ticks") + fields[12].parse::<f64>().expect("ticks")) / 100.0
}

pub fn option<T>(socket: &impl AsRawFd, level: i32, name: i32, value: T) -> bool {
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

pub fn tcp(name: &str, options: &[&str]) {
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
pub fn udp(name: &str, bytes: usize, segments: usize, pause: Option<Duration>) {
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
        sent as f64 / LENGTH.as_secs_f64() / 1e6,
        received as f64 / seconds / 1e6,
        end["a_to_b"]["delivered_packets"]
            .as_f64()
            .expect("a count")
            / LENGTH.as_secs_f64()
            / 1e6,
        end["a_to_b"]
    );
}
