//! A real cable between two namespaces that the test makes. Needs root; skipped without.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

#[allow(dead_code)]
mod support;
use support::{DEADLINE, Frames, Node, Wire};

/// How long to wait for what must not come.
const QUIET: Duration = Duration::from_secs(1);

macro_rules! nodes {
    () => {
        match (Node::make(), Node::make()) {
            (Some(a), Some(b)) => (a, b),
            _ => return,
        }
    };
}

/// Send `count` numbered frames from a to b; the numbers that arrive.
fn pass(a: &Node, b: &Node, count: u32, length: usize) -> Vec<u32> {
    let (sender, receiver) = (a.tap("u0"), b.tap("u0"));
    let mut arrived = Vec::new();
    // small bursts, as the ring in front of the wire is finite
    for first in (0..count).step_by(100) {
        let end = count.min(first + 100);
        (first..end).for_each(|number| sender.send(number, length));
        collect(&receiver, &mut arrived, end, Duration::from_millis(20));
    }
    collect(&receiver, &mut arrived, count, QUIET);
    arrived
}

/// Receive until `count` frames are there or none comes for a while.
fn collect(receiver: &Frames, arrived: &mut Vec<u32>, count: u32, quiet: Duration) {
    while arrived.len() < count as usize {
        let Some(number) = receiver.number(quiet) else {
            return;
        };
        arrived.push(number);
    }
}

fn all(count: u32) -> Vec<u32> {
    (0..count).collect()
}

#[test]
fn frames_cross_in_order_and_are_counted() {
    let (a, b) = nodes!();
    let wire = Wire::connect(&a, &b, &[]);
    assert_eq!(pass(&a, &b, 500, 100), all(500));
    assert_eq!(pass(&b, &a, 300, 1514), all(300));

    let (end, code) = wire.end();
    assert_eq!(
        (code, &end["event"], &end["reason"]),
        (Some(0), &"end".into(), &"input_closed".into())
    );
    assert_eq!(end["a_to_b"]["received_packets"], 500);
    assert_eq!(end["a_to_b"]["delivered_packets"], 500);
    assert_eq!(end["a_to_b"]["delivered_bytes"], 50_000);
    assert_eq!(end["b_to_a"]["delivered_packets"], 300);
    assert_eq!(end["b_to_a"]["delivered_bytes"], 300 * 1514);
    assert_eq!(end["a_to_b"]["ring_full_packets"], 0);
}

#[test]
fn it_leaves_no_device_however_it_ends() {
    let (a, b) = nodes!();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let wire = Wire::connect(&a, &b, &[]);
        assert!(a.has("u0") && b.has("u0"));
        wire.signal(signal);
        let (end, code) = wire.end();
        assert_eq!(code, Some(0));
        assert_eq!(end["event"], "end");
        assert!(!a.has("u0") && !b.has("u0"), "{signal}");
    }
    let mut wire = Wire::connect(&a, &b, &[]);
    wire.child.kill().expect("it runs");
    wire.child.wait().expect("it ends");
    assert!(!a.has("u0") && !b.has("u0"), "SIGKILL");
}

#[test]
fn a_device_that_vanishes_ends_the_cable_with_its_name() {
    for end in 0..2 {
        let (a, b) = nodes!();
        let mut wire = Wire::connect(&a, &b, &["--interval-ms", "100000"]);
        [&a, &b][end].remove("u0");

        let last = wire.line();
        assert_eq!(
            (&last["event"], &last["reason"]),
            (&"end".into(), &"failed".into())
        );
        let output = wire.errors();
        assert_eq!(
            output,
            "culvert-wire cable: device u0: was removed while the cable was in use; start the cable again\n"
        );
        assert_eq!(wire.end().1, Some(1));
        assert!(!a.has("u0") && !b.has("u0"));
    }
}

#[test]
fn it_ends_when_nobody_listens_any_more() {
    let (a, b) = nodes!();
    let mut wire = Wire::connect(&a, &b, &["--interval-ms", "10"]);
    wire.close_output();
    let status = wire.child.wait().expect("it ends");
    assert!(status.success(), "{status}");
    assert!(!a.has("u0") && !b.has("u0"));
}

#[test]
fn the_devices_have_the_mtu_and_nothing_longer_passes() {
    let (a, b) = nodes!();
    let wire = Wire::connect(&a, &b, &["--mtu", "1280"]);
    assert_eq!((a.mtu("u0"), b.mtu("u0")), (1280, 1280));
    assert_eq!(pass(&a, &b, 3, 1280 + 14), all(3));
    drop(wire);
    assert!(!a.has("u0"));
}

#[test]
fn tcp_crosses_as_wire_packets() {
    let (a, b) = nodes!();
    let wire = Wire::connect(&a, &b, &[]);
    a.address("u0", Ipv4Addr::new(198, 18, 0, 1));
    b.address("u0", Ipv4Addr::new(198, 18, 0, 2));
    let capture = b.tap("u0");
    let sent: Vec<u8> = (0..8_000_000u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();

    let listener = b.run(|| TcpListener::bind("198.18.0.2:7000").expect("a listener"));
    let receiver = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        stream.set_read_timeout(Some(DEADLINE)).expect("a deadline");
        let mut received = Vec::new();
        stream.read_to_end(&mut received).expect("the data");
        received
    });
    let data = sent.clone();
    a.run(move || {
        let mut stream = TcpStream::connect("198.18.0.2:7000").expect("a connection");
        stream
            .set_write_timeout(Some(DEADLINE))
            .expect("a deadline");
        stream.write_all(&data).expect("the data is sent");
    });
    assert!(
        receiver.join().expect("the receiver") == sent,
        "the data is what was sent"
    );

    let mut longest = 0;
    while let Some(frame) = capture.receive(QUIET) {
        longest = longest.max(frame.len());
    }
    assert_eq!(longest, 1514, "super-packets were cut");
    let (end, _) = wire.end();
    assert!(end["a_to_b"]["delivered_bytes"].as_u64() > Some(8_000_000));
    assert_eq!(end["a_to_b"]["too_long_packets"], 0);
}

#[test]
fn the_same_seed_loses_the_same_packets() {
    let (a, b) = nodes!();
    let mut runs = Vec::new();
    for seed in ["7", "7", "8"] {
        let wire = Wire::connect(&a, &b, &["--loss", "30%", "--seed", seed]);
        let arrived = pass(&a, &b, 500, 64);
        let (end, _) = wire.end();
        assert_eq!(end["a_to_b"]["lost_packets"], 500 - arrived.len());
        assert_eq!(end["a_to_b"]["received_packets"], 500);
        runs.push(arrived);
    }
    assert!(runs[0] == runs[1], "the same seed");
    assert!(runs[0] != runs[2], "another seed");
}

#[test]
fn a_delay_is_never_undercut() {
    let (a, b) = nodes!();
    let wire = Wire::connect(&a, &b, &["--delay", "50ms"]);
    let (sender, receiver) = (a.tap("u0"), b.tap("u0"));
    for number in 0..20 {
        let start = Instant::now();
        sender.send(number, 64);
        assert_eq!(receiver.number(DEADLINE), Some(number));
        assert!(start.elapsed() >= Duration::from_millis(50));
    }
    drop(wire);
}

#[test]
fn a_full_queue_drops_the_last() {
    let (a, b) = nodes!();
    // 1000 bytes a second: the second packet takes a tenth of a second
    let options = ["--rate", "8000bit/s", "--queue-packets", "2"];
    let wire = Wire::connect(&a, &b, &options);
    let (sender, receiver) = (a.tap("u0"), b.tap("u0"));
    for number in 0..10 {
        sender.send(number, 100);
    }
    let first: Vec<_> = std::iter::from_fn(|| receiver.number(Duration::from_secs(1))).collect();
    assert_eq!(first[..2], [0, 1]);
    let (end, _) = wire.end();
    let full = end["a_to_b"]["queue_full_packets"]
        .as_u64()
        .expect("a count");
    assert_eq!(full as usize + first.len(), 10);
    assert!(full > 0);
}

#[test]
fn a_device_that_is_down_refuses_and_the_cable_goes_on() {
    let (a, b) = nodes!();
    let mut wire = Wire::connect(&a, &b, &["--interval-ms", "10"]);
    b.take_down("u0");
    a.tap("u0").send(1, 64);
    while wire.line()["a_to_b"]["refused_packets"] != 1 {}
    b.bring_up("u0");
    assert_eq!(pass(&a, &b, 3, 64), all(3));
}

#[test]
fn statistics_come_at_each_interval_and_add_up() {
    let (a, b) = nodes!();
    let mut wire = Wire::connect(&a, &b, &["--interval-ms", "20", "--delay", "5s"]);
    a.tap("u0").send(1, 64);
    let line = loop {
        let line = wire.line();
        assert_eq!(line["event"], "statistics");
        if line["a_to_b"]["received_packets"] == 1 && line["a_to_b"]["in_flight_packets"] == 1 {
            break line;
        }
    };
    assert_eq!(line["a_to_b"]["delivered_packets"], 0);
    let (end, _) = wire.end();
    assert_eq!(
        end["a_to_b"]["in_flight_packets"], 1,
        "what was on its way is counted"
    );
}

#[test]
fn mistakes_get_one_line_and_a_code() {
    let (a, b) = nodes!();
    let (end_a, end_b) = (format!("{}:u0", a.path), format!("{}:u0", b.path));
    let free = format!("{}:u1", a.path);
    let wire = Wire::connect(&a, &b, &[]);
    let regular = format!("{}:u1", file!());
    let absolute = format!("{}/Cargo.toml:u1", env!("CARGO_MANIFEST_DIR"));
    let broken = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let trace = format!("{{\"trace\": \"{broken}\"}}");
    let delays =
        format!("{{\"jitter\": {{\"distribution\": \"empirical\", \"file\": \"{broken}\"}}}}");
    for (first, second, options, code, words) in [
        (
            &*free,
            "/run/netns/culvert-none:u1",
            &[][..],
            1,
            "culvert-none",
        ),
        (
            &end_a,
            &end_b,
            &[],
            1,
            "a device of that name exists already",
        ),
        (&absolute, &end_b, &[], 1, "not a network namespace"),
        (&regular, &end_b, &[], 2, "is no namespace"),
        ("u0", &end_b, &[], 2, "NETNS:DEVICE"),
        (&end_a, &end_b, &["--mtu", "67"], 2, "67"),
        (&end_a, &end_b, &["--loss", "150%"], 2, "from 0% to 100%"),
        (
            &end_a,
            &end_b,
            &["--delay", "61s"],
            2,
            "delay_ns: 61000000000 is not from",
        ),
        (&end_a, &end_b, &["--rate", "1bit/s"], 2, "rate_bps"),
        (
            &end_a,
            &end_b,
            &["--a-to-b", &trace],
            2,
            "line 1 is no number",
        ),
        (
            &end_a,
            &end_b,
            &["--b-to-a", &delays],
            2,
            "line 1 is no delay",
        ),
    ] {
        let output = Wire::command(first, second, options)
            .output()
            .expect("it ends");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{text}");
        assert!(text.contains(words), "{text}");
        assert!(!text.contains("panicked"), "{text}");
        assert!(output.stdout.is_empty());
    }
    drop(wire);
    assert!(!a.has("u0") && !b.has("u0") && !a.has("u1"));
}

#[test]
fn many_cables_in_one_process() {
    let (a, b) = nodes!();
    let (c, d) = nodes!();
    let mut wire = Wire::many();
    let connect = |name: &str, a: &Node, b: &Node| {
        let (a, b) = (&a.path, &b.path);
        format!(r#"{{"command": "connect", "cable": "{name}", "a": "{a}:u0", "b": "{b}:u0"}}"#)
    };
    assert_eq!(
        wire.say(r#"{"command": "statistics"}"#)["why"],
        "there is none"
    );
    assert_eq!(wire.say(&connect("x", &a, &b))["event"], "done");
    assert_eq!(wire.say(&connect("y", &c, &d))["event"], "done");
    for (name, why) in [
        ("x", "there is one of that name"),
        ("z", "a device of that name exists already"),
    ] {
        assert_eq!(wire.say(&connect(name, &a, &b))["why"], why);
    }
    for node in [&a, &b, &c, &d] {
        node.bring_up("u0");
    }
    let lose = r#"{"command": "set", "cable": "y", "conditions": {"loss": {"probability": 1}}}"#;
    assert_eq!(wire.say(lose)["event"], "done");
    assert_eq!(pass(&a, &b, 5, 100), all(5));
    assert_eq!(pass(&c, &d, 5, 100), Vec::<u32>::new());
    let counts = wire.say(r#"{"command": "statistics", "cable": "y"}"#);
    assert_eq!(
        (&counts["cable"], &counts["a_to_b"]["lost_packets"]),
        (&"y".into(), &5.into())
    );
    assert_eq!(
        wire.say(r#"{"command": "statistics"}"#)["why"],
        "there are several"
    );
    assert_eq!(
        wire.say(r#"{"command": "disconnect", "cable": "x"}"#)["event"],
        "done"
    );
    assert!(!a.has("u0") && !b.has("u0") && c.has("u0"));
    let (end, code) = wire.end();
    assert_eq!(code, Some(0));
    assert_eq!(end["cables"]["y"]["a_to_b"]["lost_packets"], 5);
    assert!(!c.has("u0") && !d.has("u0"));
}
