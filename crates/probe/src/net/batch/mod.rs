//! Many datagrams per system call.

pub mod receive;
pub mod reflect;
pub mod send;
