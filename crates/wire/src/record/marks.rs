//! Marks in packets: bytes in a row that have some bits in common.

use serde::Deserialize;

/// So many bytes in a row are a mark.
const MARK: usize = 8;

/// A packet with bytes in a row that have these `bits` under the `mask` is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marks {
    pub mask: u8,
    pub bits: u8,
}

impl Marks {
    pub fn are_in(self, bytes: &[u8]) -> bool {
        let fits = |byte: &&u8| **byte & self.mask == self.bits;
        // Of so many bytes in a row one is at a multiple of their number.
        let mut at = MARK - 1;
        while at < bytes.len() {
            let (before, behind) = bytes.split_at(at);
            let from_here = behind.iter().take_while(fits).count();
            if from_here > 0 {
                let run = before.iter().rev().take_while(fits).count() + from_here;
                if run >= MARK {
                    return true;
                }
            }
            at += from_here + MARK;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_in_a_row_are_found_as_by_a_plain_search(
            bytes in prop::collection::vec(prop_oneof![3 => 0xa0..=0xaf_u8, 1 => any::<u8>()], 0..200),
        ) {
            let plain = bytes.windows(MARK).any(|row| row.iter().all(|byte| byte >> 4 == 0xa));
            let marks = Marks { mask: 0xf0, bits: 0xa0 };
            prop_assert_eq!(marks.are_in(&bytes), plain);
        }
    }
}
