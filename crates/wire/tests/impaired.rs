//! Impairments and commands on a real cable. Needs root; skipped without.

use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

#[allow(dead_code)]
mod support;
use support::{DEADLINE, Frames, Node, Wire};

macro_rules! nodes {
    () => {
        match (Node::make(), Node::make()) {
            (Some(a), Some(b)) => (a, b),
            _ => return,
        }
    };
}

const LONG: [&str; 2] = ["--interval-ms", "1000000"];

fn connect(a: &Node, b: &Node, options: &[&str]) -> Wire {
    let options = [&LONG[..], options].concat();
    let wire = Wire::connect(a, b, &options);
    a.address("u0", Ipv4Addr::new(198, 18, 0, 1));
    b.address("u0", Ipv4Addr::new(198, 18, 0, 2));
    wire
}

/// The next IPv4 frame that carries UDP.
fn udp(frames: &Frames) -> Vec<u8> {
    loop {
        let frame = frames.receive(DEADLINE).expect("a frame");
        if frame[12..14] == [8, 0] && frame[23] == 17 {
            return frame;
        }
    }
}

/// One system call that hands the kernel `count` datagrams of 100 bytes, numbered.
fn send_super_packet(node: &Node, count: u8) {
    node.run(move || {
        let socket = UdpSocket::bind("198.18.0.1:7001").expect("a socket");
        socket.connect("198.18.0.2:7000").expect("an address");
        let size: libc::c_int = 100;
        // SAFETY: the option is one int.
        let result = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_UDP,
                libc::UDP_SEGMENT,
                (&raw const size).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        };
        assert_eq!(result, 0, "UDP_SEGMENT");
        let data: Vec<u8> = (0..count).flat_map(|number| [number; 100]).collect();
        assert_eq!(socket.send(&data).expect("sent"), data.len());
    });
}

/// The numbers of the datagrams that arrive at a socket.
fn arrived(node: &Node, send: impl FnOnce()) -> Vec<u8> {
    let socket = node.run(|| UdpSocket::bind("198.18.0.2:7000").expect("a socket"));
    socket
        .set_read_timeout(Some(Duration::from_millis(500)))
        .expect("a deadline");
    send();
    let mut numbers = Vec::new();
    let mut buffer = [0; 2000];
    while let Ok(bytes) = socket.recv(&mut buffer) {
        assert_eq!(bytes, 100);
        assert!(buffer[..100].iter().all(|byte| *byte == buffer[0]));
        numbers.push(buffer[0]);
    }
    numbers
}

#[test]
fn packets_of_a_super_packet_are_lost_one_by_one() {
    let (a, b) = nodes!();
    for offloads in [&["--offloads"][..], &[]] {
        let mut wire = connect(&a, &b, offloads);
        // the address is resolved before the packets are numbered
        assert_eq!(arrived(&b, || send_super_packet(&a, 1)), [0]);
        let before = wire.say(r#"{"command": "statistics"}"#)["a_to_b"].clone();
        let first = before["received_packets"].as_u64().expect("a count");
        let conditions = format!(
            r#"{{"command": "set", "direction": "a_to_b", "conditions": {{"loss": {{"packets": [{}, {}, {}]}}}}}}"#,
            first,
            first + 4,
            first + 9
        );
        assert_eq!(wire.say(&conditions)["event"], "done");
        assert_eq!(
            arrived(&b, || send_super_packet(&a, 10)),
            [1, 2, 3, 5, 6, 7, 8]
        );
        let (end, _) = wire.end();
        assert_eq!(end["a_to_b"]["lost_packets"], 3);
        assert_eq!(end["a_to_b"]["received_packets"], first + 10);
        let reads = end["a_to_b"]["reads"].as_u64().expect("a count")
            - before["reads"].as_u64().expect("a count");
        // an older kernel cuts UDP itself, whatever it is offered
        assert!(
            reads == 10 || (reads == 1 && !offloads.is_empty()),
            "{reads}"
        );
    }
}

#[test]
fn the_mode_that_exists_to_be_shown_loses_them_together() {
    let (a, b) = nodes!();
    let conditions = r#"{"loss": {"probability": 0.5}, "per_super_packet": true}"#;
    let options = ["--offloads", "--a-to-b", conditions, "--b-to-a", "{}"];
    let mut wire = connect(&a, &b, &options);
    let mut whole = 0;
    for _ in 0..8 {
        let numbers = arrived(&b, || send_super_packet(&a, 10));
        if wire.say(r#"{"command": "statistics"}"#)["a_to_b"]["reads"] == 0 {
            continue;
        }
        assert!(numbers.is_empty() || numbers.len() == 10, "{numbers:?}");
        whole += usize::from(numbers.len() == 10);
    }
    assert!(whole > 0);
}

/// Whether lengths and checksums of a UDP packet are right.
fn is_whole(frame: &[u8]) -> bool {
    let Ok(sliced) = etherparse::SlicedPacket::from_ethernet(frame) else {
        return false;
    };
    let (Some(etherparse::NetSlice::Ipv4(ip)), Some(etherparse::TransportSlice::Udp(udp))) =
        (&sliced.net, &sliced.transport)
    else {
        return false;
    };
    let header = ip.header().to_header();
    header.header_checksum == header.calc_header_checksum()
        && usize::from(header.total_len) + 14 == frame.len()
        && Ok(udp.checksum()) == udp.to_header().calc_checksum_ipv4(&header, udp.payload())
}

#[test]
fn a_flipped_bit_is_behind_the_link_header_and_breaks_a_checksum() {
    let (a, b) = nodes!();
    let mut wire = connect(&a, &b, &["--offloads"]);
    assert_eq!(arrived(&b, || send_super_packet(&a, 1)), [0]);
    let frames = b.tap("u0");
    send_super_packet(&a, 1);
    let right = udp(&frames);
    wire.say(r#"{"command": "set", "conditions": {"corrupt": 1}}"#);
    send_super_packet(&a, 1);
    let wrong = frames.receive(DEADLINE).expect("a frame");
    assert_eq!(right.len(), wrong.len());
    assert_eq!(right[..14], wrong[..14]);
    // Its checksums were completed before the bit was flipped, so one of them is wrong now.
    assert!(!is_whole(&wrong), "{wrong:?}");
    let (end, _) = wire.end();
    assert!(end["a_to_b"]["corrupted_packets"].as_u64() >= Some(1));
}

#[test]
fn what_is_refused_changes_nothing() {
    let (a, b) = nodes!();
    let mut wire = connect(&a, &b, &[]);
    for (command, words) in [
        ("nonsense", "expected"),
        (r#"{"command": "dance"}"#, "unknown variant"),
        (
            r#"{"command": "set", "conditions": {"loss": {"probability": 2}}}"#,
            "2 is no probability",
        ),
        (
            r#"{"command": "set", "conditions": {"trace": "/none"}}"#,
            "No such file",
        ),
        (
            r#"{"command": "set", "conditions": {"delay": "5ms"}}"#,
            "unknown field",
        ),
    ] {
        let answer = wire.say(command);
        assert_eq!(answer["event"], "refused", "{answer}");
        let why = format!("{} {}", answer["what"], answer["why"]);
        assert!(why.contains(words), "{answer}");
        assert!(!answer["remedy"].as_str().expect("text").is_empty());
    }
    assert_eq!(arrived(&b, || send_super_packet(&a, 3)), [0, 1, 2]);
}

/// Whether the program requests that processors do not sleep.
fn keeps_awake(wire: &Wire) -> bool {
    let open = std::fs::read_dir(format!("/proc/{}/fd", wire.child.id())).expect("it runs");
    open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .any(|target| target == std::path::Path::new("/dev/cpu_dma_latency"))
}

#[test]
fn processors_are_awake_only_while_packets_are_on_their_way() {
    let (a, b) = nodes!();
    if !std::path::Path::new("/dev/cpu_dma_latency").exists() {
        return;
    }
    let wire = connect(&a, &b, &["--delay", "1ms"]);
    let end = std::time::Instant::now() + DEADLINE;
    while !keeps_awake(&wire) {
        assert!(std::time::Instant::now() < end, "packets pass");
        send_super_packet(&a, 1);
    }
    while keeps_awake(&wire) {
        assert!(std::time::Instant::now() < end, "none has passed for long");
        std::thread::sleep(Duration::from_millis(20));
    }
}
