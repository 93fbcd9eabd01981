//! Features of Linux's sockets that are missing in the standard library.

pub mod batch;
pub mod capture;
pub mod device;
pub mod echo_channel;
pub mod icmp;
pub mod socket;
pub mod tcp_info;
