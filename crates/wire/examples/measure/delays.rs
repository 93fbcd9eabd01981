//! How long packets take: through nothing, and through 50 ms.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::floods::cpu_s;
use crate::support::Node;
use crate::{connect, sleep_until, stamps};

fn percentile(sorted: &[u64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share) as usize] as f64 / 1000.0
}

/// Microseconds of a UDP ping-pong through a cable with no impairment.
pub fn rtt() {
    let (a, b, wire) = connect(&["--offloads"]);
    ping_pong("rtt", &a, &b);
    drop(wire);
}

/// The same through a pair of the kernel's own devices.
pub fn rtt_veth() {
    let (a, b) = (Node::make().expect("root"), Node::make().expect("root"));
    let thread = |node: &Node| node.path.split('/').nth(4).expect("a thread").to_string();
    let (near, far) = (thread(&a), thread(&b));
    let made = Command::new("ip")
        .args(["link", "add", "u0", "netns", &near, "type", "veth"])
        .args(["peer", "name", "u0", "netns", &far])
        .status();
    assert!(made.expect("ip").success());
    for (node, address) in [(&a, "198.18.0.1"), (&b, "198.18.0.2")] {
        node.bring_up("u0");
        node.address("u0", address.parse().expect("an address"));
    }
    ping_pong("rtt-veth", &a, &b);
}

fn ping_pong(name: &str, a: &Node, b: &Node) {
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
        "{{\"case\":\"{name}\",\"p50_us\":{:.1},\"p99_us\":{:.1}}}",
        percentile(&times, 0.5),
        percentile(&times, 0.99)
    );
}

/// One way, at 10,000 packets a second, through 50 ms: how far from it they are.
///
/// From when a's kernel handed a packet to the device until b's kernel got it: what lies before and
/// behind is how soon the sender and the receiver run, and not the wire's.
pub fn delay() {
    let (a, b, wire) = connect(&["--delay", "50ms"]);
    let receiver = b.run(|| UdpSocket::bind("198.18.0.2:7000").expect("a socket"));
    assert!(stamps::arrivals(&receiver));
    receiver
        .set_read_timeout(Some(Duration::from_secs(1)))
        .expect("a deadline");
    let counting = std::thread::spawn(move || {
        let mut arrived = BTreeMap::new();
        while let Some((number, at_ns)) = stamps::next_arrival(&receiver) {
            arrived.insert(number, at_ns);
        }
        arrived
    });
    let sent = a.run(move || {
        let _ = nix::sys::prctl::set_timerslack(1);
        let socket = UdpSocket::bind("198.18.0.1:0").expect("a socket");
        socket.connect("198.18.0.2:7000").expect("an address");
        assert!(stamps::departures(&socket));
        let origin = Instant::now();
        for number in 0..20_000u32 {
            sleep_until(origin + Duration::from_micros(100) * number);
            socket.send(&number.to_ne_bytes()).expect("sent");
        }
        stamps::all_departures(&socket)
    });
    let arrived = counting.join().expect("the receiver");
    // without the first fifth of a second, in which packets wait for the address to be resolved
    let mut errors: Vec<u64> = sent
        .range(2_000..)
        .filter_map(|(number, sent_ns)| {
            let took_ns = arrived.get(number)? - sent_ns;
            Some(took_ns.checked_sub(50_000_000).expect("none is early"))
        })
        .collect();
    errors.sort_unstable();
    let cpu = cpu_s(wire.child.id());
    let (end, _) = wire.end();
    println!(
        "{{\"case\":\"delay\",\"packets\":{},\"error_p50_us\":{:.1},\"error_p99_us\":{:.1},\"error_max_us\":{:.1},\"late\":{},\"latest_ns\":{},\"wire_cpu_s\":{cpu:.2}}}",
        errors.len(),
        percentile(&errors, 0.5),
        percentile(&errors, 0.99),
        percentile(&errors, 1.0),
        end["a_to_b"]["late_packets"],
        end["a_to_b"]["latest_ns"]
    );
}
