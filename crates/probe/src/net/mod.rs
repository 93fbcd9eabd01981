//! Features of Linux's sockets that are missing in the standard library. All unsafe code of the
//! probe is below here.

pub mod batch;
pub mod capture;
pub mod device;
pub mod echo_channel;
pub mod icmp;
pub mod socket;
pub mod stamped;
pub mod tcp_info;
