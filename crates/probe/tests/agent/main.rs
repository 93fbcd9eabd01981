//! The agent as Culvert uses it: JSON lines to the program, traffic over loopback.

mod accounting;
mod capture;
mod crowd;
mod echo;
mod requests;
mod rtt;
mod secure;
mod support;
mod tcp;
mod udp;
mod udp_counts;

const OTHER_TOKEN: &str = "ffffffffffffffffffffffffffffffff";
const LOOPBACK: &str = "127.0.0.1";
