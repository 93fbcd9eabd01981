//! What the standard library lacks of Linux's sockets. All unsafe code of the probe is below here.

pub mod batch;
pub mod icmp;
pub mod socket;
pub mod stamped;
pub mod tcp_info;
