//! Programs that the kernel runs on each packet before it is queued to a capture (classic BPF).
//!
//! Reference: the kernel's Documentation/networking/filter.rst.

use libc::sock_filter;
use serde::Deserialize;

const LOAD_WORD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const MODULO: u16 = (libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K) as u16;
const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

const AD_PACKET_TYPE: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE) as u32;
const AD_RANDOM: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_RANDOM) as u32;
const WHOLE: u32 = u32::MAX;

/// Which way packets go, as seen from the node of the capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Both,
    In,
    Out,
}

/// Passes packets that go the wanted way, and of those a random one in `sample_one_in`.
pub fn program(direction: Direction, sample_one_in: u32) -> Vec<sock_filter> {
    // Each test drops the packet or falls through to the next.
    let mut program = match direction {
        Direction::Both => vec![],
        Direction::Out => vec![
            step(LOAD_WORD, AD_PACKET_TYPE, 0, 0),
            step(JUMP_IF_EQUAL, u32::from(libc::PACKET_OUTGOING), 1, 0),
            step(RETURN, 0, 0, 0),
        ],
        Direction::In => vec![
            step(LOAD_WORD, AD_PACKET_TYPE, 0, 0),
            step(JUMP_IF_EQUAL, u32::from(libc::PACKET_OUTGOING), 0, 1),
            step(RETURN, 0, 0, 0),
        ],
    };
    if sample_one_in > 1 {
        program.extend([
            step(LOAD_WORD, AD_RANDOM, 0, 0),
            step(MODULO, sample_one_in, 0, 0),
            step(JUMP_IF_EQUAL, 0, 1, 0),
            step(RETURN, 0, 0, 0),
        ]);
    }
    program.push(step(RETURN, WHOLE, 0, 0));
    program
}

fn step(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a program as the kernel would.
    fn passes(program: &[sock_filter], outgoing: bool, random: u32) -> bool {
        let mut at = 0;
        let mut accumulator = 0;
        loop {
            let step = program[at];
            at += 1;
            match step.code {
                LOAD_WORD if step.k == AD_RANDOM => accumulator = random,
                LOAD_WORD => accumulator = if outgoing { 4 } else { 0 },
                MODULO => accumulator %= step.k,
                JUMP_IF_EQUAL if accumulator == step.k => at += usize::from(step.jt),
                JUMP_IF_EQUAL => at += usize::from(step.jf),
                RETURN => return step.k > 0,
                other => panic!("{other}"),
            }
        }
    }

    #[test]
    fn directions_and_samples() {
        for sample in [1, 10] {
            for random in [0, 3, 10, 4_000_000_007] {
                let chosen = sample == 1 || random % sample == 0;
                for outgoing in [true, false] {
                    let passes = |direction| passes(&program(direction, sample), outgoing, random);
                    assert_eq!(passes(Direction::Both), chosen);
                    assert_eq!(passes(Direction::Out), chosen && outgoing);
                    assert_eq!(passes(Direction::In), chosen && !outgoing);
                }
            }
        }
    }
}
