//! The marks of a session: what its payloads repeat, at whatever place of a packet it is readable.
//!
//! All bytes of a canary have some bits in common. So four successive bytes of it, wherever they
//! begin, are known by these bits alone, and a filter of the kernel needs one comparison for each
//! word that it loads. What passes is compared here with the canary itself.

use crate::protocol::values::Canary;
use std::collections::HashSet;

/// So many successive bytes of the canary are a mark: the payload of a 64-byte packet has no more.
const MARK: usize = 8;

#[derive(Debug, Clone)]
pub struct Marks {
    /// The bits that all bytes of the canaries have in common.
    mask: u8,
    bits: u8,
    /// What may stand at any place of a repeated canary.
    windows: HashSet<[u8; MARK]>,
}

impl Marks {
    /// None without a canary.
    pub fn new(canaries: &[Canary]) -> Option<Marks> {
        let bytes = || canaries.iter().flat_map(|canary| canary.bytes());
        let first = *bytes().next()?;
        let mask = bytes().fold(u8::MAX, |mask, byte| mask & !(byte ^ first));
        let mut windows = HashSet::new();
        for canary in canaries {
            let repeated = canary.repeated(canary.bytes().len() + MARK - 1);
            windows.extend(
                repeated
                    .windows(MARK)
                    .filter_map(|window| <[u8; MARK]>::try_from(window).ok()),
            );
        }
        Some(Marks {
            mask,
            bits: first & mask,
            windows,
        })
    }

    /// The same for four successive bytes: the bits in common, and their values.
    pub fn word(&self) -> (u32, u32) {
        (
            u32::from_ne_bytes([self.mask; 4]),
            u32::from_ne_bytes([self.bits; 4]),
        )
    }

    /// Whether a mark is anywhere in these bytes.
    pub fn are_in(&self, bytes: &[u8]) -> bool {
        let fits = |byte: &u8| byte & self.mask == self.bits;
        // Of so many successive bytes one is at a multiple of their number.
        let mut at = MARK - 1;
        while let Some(byte) = bytes.get(at) {
            if fits(byte) {
                let before = bytes[..at].iter().rev().take_while(|byte| fits(byte));
                let start = at - before.count();
                let end = at + bytes[at..].iter().take_while(|byte| fits(byte)).count();
                let mut windows = bytes[start..end].windows(MARK);
                if windows.any(|window| self.windows.contains(window)) {
                    return true;
                }
                at = end;
            }
            at += MARK;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn canary(seed: &[u8]) -> Canary {
        let bytes = seed.iter().map(|byte| 0xa0 | byte & 0x0f).collect();
        Canary::new(bytes).unwrap()
    }

    proptest! {
        #[test]
        fn a_mark_is_found_as_by_a_plain_search(
            seed in prop::collection::vec(any::<u8>(), 8..=64),
            before in prop::collection::vec(prop_oneof![any::<u8>(), 0xa0..=0xaf_u8], 0..100),
            from in 0..64_usize, length in 0..40_usize,
            behind in prop::collection::vec(prop_oneof![any::<u8>(), 0xa0..=0xaf_u8], 0..100),
        ) {
            let canary = canary(&seed);
            let run = &canary.repeated(from + length)[from..];
            let packet = [&before[..], run, &behind].concat();
            let repeated = canary.repeated(seed.len() + MARK - 1);
            let plain = repeated.windows(MARK).any(|window| {
                packet.windows(MARK).any(|part| part == window)
            });
            let marks = Marks::new(&[canary]).unwrap();
            prop_assert_eq!(marks.are_in(&packet), plain);
            prop_assert!(plain || length < MARK);
        }

        #[test]
        fn any_canary_is_found(
            one in prop::collection::vec(any::<u8>(), 8..=64),
            other in prop::collection::vec(any::<u8>(), 8..=64),
            from in 0..64_usize,
        ) {
            let canaries = [one, other].map(|bytes| Canary::new(bytes).unwrap());
            let marks = Marks::new(&canaries).unwrap();
            let (mask, bits) = marks.word();
            for canary in &canaries {
                let run = &canary.repeated(from + MARK)[from..];
                prop_assert!(marks.are_in(run));
                let word = u32::from_be_bytes(run[..4].try_into().unwrap());
                prop_assert_eq!(word & mask, bits);
            }
        }
    }

    #[test]
    fn without_a_canary_there_are_no_marks() {
        assert!(Marks::new(&[]).is_none());
    }
}
