//! What the wire itself can do, by its own packet generator: JSON lines. Needs root.
//!
//!     cargo run --release -p culvert-wire --example measure -- [CASE]
//!
//! Sockets in two namespaces, a cable between them. Figures are of what arrived.

use std::time::{Duration, Instant};

mod delays;
mod floods;
mod losses;
mod memory;
mod rate;
mod stamps;

use delays::{delay, rtt, rtt_veth};
use floods::{tcp, udp};
use losses::loss;
use memory::memory;
use rate::rate;

#[path = "../../tests/support/mod.rs"]
#[allow(dead_code)]
mod support;
use support::{Node, Wire};

const LENGTH: Duration = Duration::from_secs(4);
const RATE_LENGTH: Duration = Duration::from_secs(10);

fn main() {
    let only = std::env::args().nth(1).unwrap_or_default();
    let cases: [(&str, fn()); 14] = [
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
        ("rtt-veth", rtt_veth),
        ("loss", loss),
        ("delay", delay),
        ("rate-100m", || {
            rate("rate-100m", "100Mbit/s", 1e8, RATE_LENGTH);
        }),
        ("rate-1g", || rate("rate-1g", "1Gbit/s", 1e9, RATE_LENGTH)),
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
