//! Random numbers from a seed: SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
//! generators, 2014). Pure.

/// Advances the state; its next 64 bits.
pub fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The first number of a seed, in [0, 1).
pub fn fraction(seed: u64) -> f64 {
    (next(&mut { seed }) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_sequence() {
        let mut state = 1_234_567;
        let found: Vec<u64> = (0..3).map(|_| next(&mut state)).collect();
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!(found, published);
    }

    #[test]
    fn fractions_are_below_one() {
        let mean = (0..1000).map(fraction).sum::<f64>() / 1000.0;
        assert!((mean - 0.5).abs() < 0.05, "{mean}");
        assert!((0..1000).all(|seed| (0.0..1.0).contains(&fraction(seed))));
    }
}
