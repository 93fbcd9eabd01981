//! A search for marks that the kernel makes in each packet, without a copy of it.
//!
//! Classic BPF has no loops, but loads at any offset. A mark repeats through a payload, so words at
//! fixed distances decide, wherever it begins. The distance grows with the packet:
//!
//! ```text
//!   packet up to  256   512   1024   2048 bytes
//!   distance        4    16     32     64
//! ```
//!
//! A readable part of distance + 3 bytes has one of the words whole. Longer packets stand for many
//! (super-packets): there the distance is such that the marks of one of them are met.

use super::bpf::{JUMP, JUMP_IF_EQUAL, JUMP_IF_GREATER, LOAD_LENGTH, LOAD_WORD, MASK, RETURN};
use super::bpf::{WHOLE, step};
use crate::packet::marks::Marks;
use libc::sock_filter;

const WORD: u32 = 4;
/// Lengths of packets, and the distance up to each: 256 bytes may be a 64-byte packet, which has eight
/// bytes of marks, with a tunnel's headers.
const DISTANCES: [(u32, u32); 4] = [(256, WORD), (512, 16), (1024, 32), (LONG, 64)];
/// Longer packets are super-packets, or of a link with jumbo frames.
const LONG: u32 = 2048;
const LONGEST: u32 = 1 << 16;
/// Where the packets of a super-packet have fewer marks than this distance, it takes more time to
/// look for them here than to copy it.
const LEAST_IN_LONG: u32 = 256;
const MOST_IN_LONG: u32 = 1024;
/// Marks in a row in each packet of a measurement that does not state how many.
const USUAL_RUN: u32 = MOST_IN_LONG + WORD;

/// What to look for, and how closely.
#[derive(Debug, Clone)]
pub struct Search {
    mask: u32,
    bits: u32,
    /// Bytes of marks in a row in each packet that carries some.
    run: u32,
    /// 1, or 2, 4 ... where the kernel has no room for the program.
    coarse: u32,
}

impl Search {
    pub fn new(marks: &Marks, run: Option<u32>) -> Search {
        let (mask, bits) = marks.word();
        Search {
            mask,
            bits,
            run: run.unwrap_or(USUAL_RUN).max(2 * WORD - 1),
            coarse: 1,
        }
    }

    /// The same with twice the distances, unless that would be nearly no search.
    pub fn coarser(&self) -> Option<Search> {
        let coarse = self.coarse * 2;
        (coarse <= 64).then(|| Search {
            coarse,
            ..self.clone()
        })
    }

    /// Bytes of marks in a row that are found at any place of a packet of that length.
    pub fn finds(&self, length: u32) -> u32 {
        let usual = DISTANCES.iter().find(|(longest, _)| length <= *longest);
        let distance = match usual {
            Some((_, distance)) => self.at_most(*distance),
            None => self.distance_in_long().unwrap_or(WORD),
        };
        distance + WORD - 1
    }

    /// Passes a packet that may have marks, and drops others.
    pub fn program(&self) -> Vec<sock_filter> {
        let mut program = vec![step(LOAD_LENGTH, 0, 0, 0)];
        let distances = DISTANCES.map(|(longest, usual)| (longest, self.at_most(usual)));
        for (place, (longest, distance)) in distances.into_iter().enumerate() {
            if distances
                .get(place + 1)
                .is_some_and(|next| next.1 == distance)
            {
                continue; // the looks at longer packets are those at these as well
            }
            let looks = self.looks(longest, distance);
            program.extend([
                step(JUMP_IF_GREATER, longest, 0, 1),
                step(JUMP, looks.len() as u32, 0, 0),
            ]);
            program.extend(looks);
        }
        match self.distance_in_long() {
            Some(distance) => program.extend(self.looks(LONGEST, distance)),
            None => program.push(step(RETURN, WHOLE, 0, 0)),
        }
        program
    }

    /// At words of a packet of at most that length; a load behind the end drops it.
    fn looks(&self, longest: u32, distance: u32) -> Vec<sock_filter> {
        let offsets = (0..=longest - WORD).step_by(distance as usize);
        let mut looks: Vec<_> = offsets.flat_map(|at| self.look_at(at)).collect();
        looks.push(step(RETURN, 0, 0, 0));
        looks
    }

    fn look_at(&self, at: u32) -> [sock_filter; 4] {
        [
            step(LOAD_WORD, at, 0, 0),
            step(MASK, self.mask, 0, 0),
            step(JUMP_IF_EQUAL, self.bits, 0, 1),
            step(RETURN, WHOLE, 0, 0),
        ]
    }

    fn at_most(&self, usual: u32) -> u32 {
        usual.min(self.most()).max(WORD) * self.coarse
    }

    fn distance_in_long(&self) -> Option<u32> {
        let distance = self.most().min(MOST_IN_LONG);
        (distance >= LEAST_IN_LONG).then_some(distance * self.coarse)
    }

    /// With a larger distance the marks of a packet could be missed.
    fn most(&self) -> u32 {
        power_of_two(self.run - WORD + 1)
    }
}

/// The largest that is not larger.
fn power_of_two(number: u32) -> u32 {
    1 << number.max(1).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::capture::interpreter::{Given, passes};
    use crate::protocol::values::Canary;
    use crate::timing::random;
    use proptest::prelude::*;

    fn noise(seed: u64, length: usize) -> Vec<u8> {
        let mut state = seed;
        (0..length)
            .map(|_| (random::next(&mut state) >> 56) as u8)
            .collect()
    }

    fn canary(seed: u64) -> Canary {
        Canary::new(
            noise(seed, 32)
                .iter()
                .map(|byte| 0xa0 | byte & 0x0f)
                .collect(),
        )
        .unwrap()
    }

    fn search(canary: &Canary, run: Option<u32>) -> Search {
        Search::new(&Marks::new(std::slice::from_ref(canary)).unwrap(), run)
    }

    fn is_passed(program: &[sock_filter], bytes: &[u8]) -> bool {
        passes(
            program,
            &Given {
                bytes,
                ..Given::default()
            },
        )
    }

    fn has_word(search: &Search, bytes: &[u8]) -> bool {
        bytes
            .windows(4)
            .any(|four| u32::from_be_bytes(four.try_into().unwrap()) & search.mask == search.bits)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn marks_in_a_row_are_found_wherever_they_are(
            seed: u64, length in 40_usize..9000, place: prop::sample::Index,
            run in prop::option::of(8_u32..2000), coarser in 0..3, from in 0..32_usize,
        ) {
            let canary = canary(seed);
            let mut search = search(&canary, run);
            for _ in 0..coarser {
                search = search.coarser().unwrap();
            }
            let mut packet = noise(!seed, length);
            let long = search.finds(length as u32) as usize;
            prop_assume!(long <= length);
            let at = place.index(length - long + 1);
            packet[at..at + long].copy_from_slice(&canary.repeated(from + long)[from..]);
            prop_assert!(is_passed(&search.program(), &packet));
        }

        #[test]
        fn what_has_no_word_of_a_mark_is_not_copied(
            seed: u64, length in 0_usize..3000, run in 300_u32..2000,
        ) {
            let search = search(&canary(seed), Some(run));
            let packet = noise(!seed, length);
            prop_assume!(!has_word(&search, &packet));
            prop_assert!(!is_passed(&search.program(), &packet));
        }
    }

    #[test]
    fn the_marks_of_each_packet_of_a_super_packet_are_found() {
        let canary = canary(7);
        for run in [8_u32, 36, 200, 456, 972, 1344] {
            let search = search(&canary, Some(run));
            let program = search.program();
            assert!(program.len() <= 4096, "{}", program.len());
            let (headers, run) = (60_usize, run as usize);
            let each = headers + run;
            for clear in 0..(60_000 / each).min(100) {
                let mut packet = noise(3, 60_000 / each * each);
                let at = clear * each + headers;
                packet[at..at + run].copy_from_slice(&canary.repeated(run));
                assert!(is_passed(&program, &packet), "{run} {clear}");
            }
        }
    }

    #[test]
    fn few_packets_of_noise_are_copied() {
        let search = search(&canary(1), None);
        let program = search.program();
        let copied = |length: usize, count: u64| {
            let packets = (0..count).map(|seed| noise(seed << 9 | 77, length));
            packets.filter(|packet| is_passed(&program, packet)).count()
        };
        // 24 and 64 words, each fits with a probability of 2^-16.
        assert!(copied(1500, 4000) < 15);
        assert!(copied(64_000, 100) < 5);
    }

    #[test]
    fn what_is_found_is_stated() {
        let usual = search(&canary(1), None);
        let lengths = [64, 256, 257, 512, 1024, 1500, 2048, 2049, 65_000];
        let found = lengths.map(|length| usual.finds(length));
        assert_eq!(found, [7, 7, 19, 19, 35, 67, 67, 1027, 1027]);
        let small = search(&canary(1), Some(8));
        assert_eq!(lengths.map(|length| small.finds(length)), [7; 9]);
    }
}
