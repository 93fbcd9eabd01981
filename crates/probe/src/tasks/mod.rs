//! The tasks of the probe, one per file. A task runs in its own thread until it ends.

pub mod accounting;
pub mod applications;
pub mod capture;
pub mod crowd;
pub mod dns_responder;
pub mod echo;
pub mod echo_once;
pub mod first_answer;
pub mod https;
pub mod leaks;
pub mod lobby;
pub mod noise_floor;
pub mod read;
pub mod reception;
pub mod rtt;
pub mod tcp_responder;
pub mod tcp_sink;
pub mod tcp_source;
pub mod tcp_stream;
pub mod tcp_transactions;
pub mod udp_sink;
pub mod udp_source;
pub mod watch_gap;
