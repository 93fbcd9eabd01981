//! Runs a filter's program (classic BPF) as the kernel would, for tests.

use super::bpf::*;
use libc::sock_filter;

/// A packet, and what the kernel knows of it.
#[derive(Default)]
pub struct Given<'a> {
    pub bytes: &'a [u8],
    pub ethertype: u32,
    pub outgoing: bool,
    pub random: u32,
}

/// Whether the program passes the packet.
pub fn passes(program: &[sock_filter], packet: &Given<'_>) -> bool {
    run(program, packet).unwrap_or(0) > 0
}

/// None where it loads from behind the end, which drops the packet.
fn run(program: &[sock_filter], packet: &Given<'_>) -> Option<u32> {
    let load = |at: u32, count: usize| {
        let bytes = packet.bytes.get(at as usize..)?.get(..count)?;
        Some(
            bytes
                .iter()
                .fold(0, |sum, byte| sum << 8 | u32::from(*byte)),
        )
    };
    let (mut at, mut accumulator, mut index) = (0, 0, 0);
    loop {
        let step = program[at];
        at += 1;
        let goes_on = |holds: bool| usize::from(if holds { step.jt } else { step.jf });
        match step.code {
            LOAD_WORD if step.k == AD_RANDOM => accumulator = packet.random,
            LOAD_WORD if step.k == AD_PROTOCOL => accumulator = packet.ethertype,
            LOAD_WORD if step.k == AD_PACKET_TYPE => {
                accumulator = if packet.outgoing { 4 } else { 0 }
            }
            LOAD_WORD => accumulator = load(step.k, 4)?,
            LOAD_HALF => accumulator = load(step.k, 2)?,
            LOAD_BYTE => accumulator = load(step.k, 1)?,
            LOAD_HALF_BEHIND => accumulator = load(index + step.k, 2)?,
            LOAD_HEADER_LENGTH => index = (load(step.k, 1)? & 0x0f) * 4,
            LOAD_LENGTH => accumulator = packet.bytes.len() as u32,
            MASK => accumulator &= step.k,
            MODULO => accumulator %= step.k,
            JUMP => at += step.k as usize,
            JUMP_IF_EQUAL => at += goes_on(accumulator == step.k),
            JUMP_IF_GREATER => at += goes_on(accumulator > step.k),
            JUMP_IF_ANY => at += goes_on(accumulator & step.k != 0),
            RETURN => return Some(step.k),
            other => panic!("{other}"),
        }
    }
}
