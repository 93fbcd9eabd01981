//! Packets of an interface, chosen and searched by programs that the kernel runs on each.

mod bpf;
pub mod filter;
#[cfg(test)]
pub(crate) mod interpreter;
pub mod outsiders;
pub mod packet_socket;
pub mod search;
