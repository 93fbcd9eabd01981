//! The Internet checksum (RFC 1071).

/// The sum of all 16-bit words, not yet folded; an odd byte at the end counts as the high one.
pub fn sum(bytes: &[u8]) -> u64 {
    // Eight bytes at a time: the one's complement sum may be taken in any width (RFC 1071, 2 B).
    let mut chunks = bytes.chunks_exact(8);
    let mut total: u128 = 0;
    for chunk in &mut chunks {
        total += u128::from(u64::from_be_bytes(chunk.try_into().unwrap_or_default()));
    }
    let mut rest = [0; 8];
    rest[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    total += u128::from(u64::from_be_bytes(rest));
    let wide = (total as u64 as u128) + (total >> 64);
    let wide = (wide as u64) + (wide >> 64) as u64;
    (wide >> 48) + (wide >> 32 & 0xffff) + (wide >> 16 & 0xffff) + (wide & 0xffff)
}

/// Fold to 16 bits; not complemented.
pub fn fold(mut total: u64) -> u16 {
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    total as u16
}

/// Finish the checksum that the kernel left to the device: over all from `start` to the end, whose
/// field at `start + offset` holds the pseudo-header's sum. False where that is not in the frame.
pub fn complete(frame: &mut [u8], start: usize, offset: usize) -> bool {
    let field = start.saturating_add(offset);
    if frame.get(field..field.saturating_add(2)).is_none() {
        return false;
    }
    let value = !fold(sum(&frame[start..]));
    // Zero means "none" in UDP (RFC 768), and is the same number as this in one's complement.
    let value = if value == 0 { 0xffff } else { value };
    frame[field..field + 2].copy_from_slice(&value.to_be_bytes());
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_rfc_1071() {
        assert_eq!(
            fold(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7])),
            0xddf2
        );
    }

    proptest! {
        #[test]
        fn it_is_the_sum_of_words(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let slow: u64 = bytes
                .chunks(2)
                .map(|pair| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0)))
                .sum();
            // one's complement has two zeros
            prop_assert_eq!(fold(sum(&bytes)) % 0xffff, fold(slow) % 0xffff);
        }

        #[test]
        fn a_completed_checksum_verifies(
            mut bytes in prop::collection::vec(any::<u8>(), 0..200), start: u8, offset: u8,
        ) {
            let (start, offset) = (usize::from(start), usize::from(offset) & !1);
            if complete(&mut bytes, start, offset) {
                // the field's own start was the rest of the sum; with it taken out the sum is -0,
                // and the field holds what makes it so
                prop_assert_ne!(&bytes[start + offset..start + offset + 2], &[0, 0][..]);
            }
        }
    }
}
