//! `hello`: version and abilities of this probe.

use super::work::TASKS;
use crate::net::socket::congestion_controls;
use serde::Serialize;

/// Grows when the meaning of a request or an answer changes.
const VERSION: u32 = 1;

#[derive(Serialize)]
pub struct Hello {
    version: &'static str,
    protocol: u32,
    pid: u32,
    clocks: Clocks,
    features: Features,
}

/// The clock of times named `*_ns`, and that of times named `*_realtime_ns`.
#[derive(Serialize)]
struct Clocks {
    ns: &'static str,
    realtime_ns: &'static str,
}

#[derive(Serialize)]
struct Features {
    tasks: &'static [&'static str],
    congestion_controls: Vec<String>,
}

pub fn hello() -> Hello {
    Hello {
        version: env!("CARGO_PKG_VERSION"),
        protocol: VERSION,
        pid: std::process::id(),
        clocks: Clocks {
            ns: "CLOCK_MONOTONIC",
            realtime_ns: "CLOCK_REALTIME",
        },
        features: Features {
            tasks: TASKS,
            congestion_controls: congestion_controls(),
        },
    }
}
