//! Features of Linux's sockets that are missing in the standard library. All unsafe code of the
//! probe is below here.

pub mod batch;
mod bpf;
pub mod echo_channel;
pub mod egress;
pub mod ethtool;
pub mod filter;
pub mod icmp;
#[cfg(test)]
pub(crate) mod interpreter;
pub mod netlink;
pub mod outsiders;
pub mod packet_socket;
pub mod receive_batch;
pub mod reflect_batch;
pub mod search;
pub mod socket;
pub mod stamped;
pub mod tcp_info;
