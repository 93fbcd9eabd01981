//! Instructions of classic BPF, and what of a packet they load.
//!
//! Reference: the kernel's Documentation/networking/filter.rst.

use crate::packet::scope::Network;
use libc::sock_filter;

pub(super) const LOAD_WORD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
pub(super) const LOAD_HALF_BEHIND: u16 = (libc::BPF_LD | libc::BPF_H | libc::BPF_IND) as u16;
pub(super) const LOAD_HALF: u16 = (libc::BPF_LD | libc::BPF_H | libc::BPF_ABS) as u16;
pub(super) const LOAD_BYTE: u16 = (libc::BPF_LD | libc::BPF_B | libc::BPF_ABS) as u16;
pub(super) const LOAD_LENGTH: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_LEN) as u16;
pub(super) const LOAD_HEADER_LENGTH: u16 = (libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH) as u16;
pub(super) const MASK: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
pub(super) const MODULO: u16 = (libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K) as u16;
pub(super) const JUMP: u16 = (libc::BPF_JMP | libc::BPF_JA) as u16;
pub(super) const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
pub(super) const JUMP_IF_ANY: u16 = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
pub(super) const JUMP_IF_GREATER: u16 = (libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K) as u16;
pub(super) const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

pub(super) const AD_PROTOCOL: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_PROTOCOL) as u32;
pub(super) const AD_PACKET_TYPE: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE) as u32;
pub(super) const AD_RANDOM: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_RANDOM) as u32;
pub(super) const WHOLE: u32 = u32::MAX;

pub(super) const IPV4: u32 = 0x0800;
pub(super) const TCP: u32 = 6;
/// Offsets in an IPv4 header.
pub(super) const PROTOCOL: u32 = 9;
/// Of the source and the destination.
pub(super) const ADDRESSES: [u32; 2] = [12, 16];
/// Offsets behind it.
pub(super) const PORTS: [u32; 2] = [0, 2];

/// The last step is for a packet whose address at that offset is in none of the networks; others fall
/// through.
pub(super) fn unless_in(networks: &[Network], offset: u32, last: sock_filter) -> Vec<sock_filter> {
    let mut program = Vec::new();
    for (number, network) in networks.iter().enumerate() {
        let behind = (networks.len() - number - 1) * 4 + 1;
        program.extend([
            step(LOAD_WORD, offset, 0, 0),
            step(MASK, network.mask, 0, 0),
            step(JUMP_IF_EQUAL, network.address, 0, 1),
            step(JUMP, behind as u32, 0, 0),
        ]);
    }
    program.push(last);
    program
}

pub(super) fn step(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}
