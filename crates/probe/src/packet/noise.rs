//! Whether one packet's bytes can be ciphertext: encrypted bytes cannot be told from noise.
//!
//! Two adaptive models bet on each next byte: on the frequency of its value, and on the eight bits
//! of it. What a model gains on noise is a test martingale, so by Ville's inequality it ever reaches
//! a factor of 2^k with a probability of at most 2^-k, at any length (Ramdas et al., "Game-theoretic
//! statistics and safe anytime-valid inference", Statistical Science 38(4), 2023). Text, zeros and
//! records gain a factor of two or more with each byte. A change of all bytes by one XOR changes
//! neither model's gain.

use std::sync::LazyLock;

/// Of a packet of noise, the chance to be taken for structure is below 2^-40, one in 10^12.
const DOUBT_BITS: f64 = 40.0;
/// A bet ends where so much is lost. A martingale may be stopped at any time.
const GIVE_UP_BITS: f64 = -96.0;
/// A bet begins at each multiple of this, so that noise before a structure does not hide it.
const STRIDE: usize = 64;
/// Bytes of one bet: a byte counts them.
const SPAN: usize = 192;
/// Weight of each value of a byte before one was seen: small, since a text has few values.
const PRIOR: f64 = 1.0 / 64.0;

/// Whether the bytes have structure anywhere.
pub fn has_structure(bytes: &[u8]) -> bool {
    let bets = 2 * bytes.len().div_ceil(STRIDE);
    let enough = DOUBT_BITS + (bets.max(1) as f64).log2();
    (0..bytes.len()).step_by(STRIDE).any(|start| {
        let span = &bytes[start..bytes.len().min(start + SPAN)];
        wins(by_values(span), enough) || wins(by_bits(span), enough)
    })
}

fn wins(gains: impl Iterator<Item = f64>, enough: f64) -> bool {
    let mut gains = gains.take_while(|bits| *bits > GIVE_UP_BITS);
    gains.any(|bits| bits >= enough)
}

/// What was gained after each byte by the frequency of each value (a Dirichlet prior), in bits: the
/// binary logarithm of the factor by which the model's probability is higher than that of noise.
fn by_values(bytes: &[u8]) -> impl Iterator<Item = f64> {
    let tables = &*TABLES;
    let mut seen = [0_u8; 256];
    let mut bits = 0.0;
    bytes.iter().enumerate().map(move |(total, &byte)| {
        let seen = &mut seen[usize::from(byte)];
        bits += 8.0 + tables.value[usize::from(*seen)] - tables.values[total];
        *seen += 1;
        bits
    })
}

/// The same by the frequency of ones at each of the eight places of a byte (Krichevsky and
/// Trofimov), after each STRIDE bytes and the last.
fn by_bits(bytes: &[u8]) -> impl Iterator<Item = f64> {
    let tables = &*TABLES;
    let (mut ones, mut total) = (0_u64, 0);
    bytes.chunks(STRIDE).map(move |chunk| {
        ones += chunk.iter().map(|&byte| spread(byte)).sum::<u64>();
        total += chunk.len();
        let gain = |ones: u8| {
            let ones = usize::from(ones);
            tables.same[ones] + tables.same[total - ones] - tables.all[total]
        };
        8.0 * total as f64 + ones.to_le_bytes().into_iter().map(gain).sum::<f64>()
    })
}

/// Each bit in a byte of its own.
fn spread(byte: u8) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const PLACES: u64 = 0x8040_2010_0804_0201;
    let at_its_place = (u64::from(byte) * EACH) & PLACES;
    // Not zero: its highest bit.
    ((at_its_place + (0x7f * EACH)) | at_its_place) >> 7 & EACH
}

static TABLES: LazyLock<Tables> = LazyLock::new(Tables::new);

/// Binary logarithms by counts: of the terms of one byte's probability, and of all factors so far.
struct Tables {
    value: [f64; SPAN + 1],
    values: [f64; SPAN + 1],
    same: [f64; SPAN + 1],
    all: [f64; SPAN + 1],
}

impl Tables {
    fn new() -> Tables {
        let of = |term: &dyn Fn(f64) -> f64| std::array::from_fn(|count| term(count as f64).log2());
        let product = |terms: [f64; SPAN + 1]| {
            let mut so_far = 0.0;
            terms.map(|term| {
                so_far += term;
                so_far - term
            })
        };
        Tables {
            value: of(&|count| count + PRIOR),
            values: of(&|count| count + 256.0 * PRIOR),
            same: product(of(&|count| count + 0.5)),
            all: product(of(&|count| count + 1.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::random;

    const TEXT: &str = "The tunnel encodes its packets instead of encrypting them, and whoever \
        listens on the link can read all that is sent from one end of it to the other. ";
    const JSON: &str = r#"{"device":"meter-17","volts":230.4,"amps":[1.25,0.75],"ok":true}, "#;

    const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    struct Noise(u64);

    impl Noise {
        fn bytes(&mut self, length: usize) -> Vec<u8> {
            (0..length)
                .map(|_| (random::next(&mut self.0) >> 56) as u8)
                .collect()
        }
    }

    fn noise() -> Noise {
        Noise(7)
    }

    fn repeated(pattern: &[u8], length: usize) -> Vec<u8> {
        pattern.iter().copied().cycle().take(length).collect()
    }

    #[test]
    fn a_gain_on_noise_is_as_rare_as_the_bound_says() {
        let mut noise = noise();
        let packets = 40_000;
        for length in [16, 50, 64, SPAN] {
            let mut reached = [[0; 11]; 2];
            for _ in 0..packets {
                let bytes = noise.bytes(length);
                let highest = [
                    by_values(&bytes).fold(0.0, f64::max),
                    by_bits(&bytes).fold(0.0, f64::max),
                ];
                for (reached, highest) in reached.iter_mut().zip(highest) {
                    for (bits, count) in reached.iter_mut().enumerate() {
                        *count += u32::from(highest >= bits as f64);
                    }
                }
            }
            for counts in reached {
                for (bits, count) in counts.into_iter().enumerate().skip(1) {
                    let bound = f64::from(packets) * 0.5_f64.powi(bits as i32);
                    let chance = 5.0 * bound.sqrt();
                    assert!(
                        f64::from(count) <= bound + chance,
                        "{length} {bits} {count}"
                    );
                }
            }
        }
    }

    #[test]
    fn each_model_is_a_distribution() {
        let mut noise = noise();
        for length in [0, 1, 7, 100, SPAN - 1] {
            let before = noise.bytes(length);
            for bits in [
                |bytes: &[u8]| by_values(bytes).last().unwrap_or_default(),
                |bytes: &[u8]| by_bits(bytes).last().unwrap_or_default(),
            ] {
                let gain = |byte: u8| bits(&[&before[..], &[byte]].concat()) - bits(&before);
                let mean = (0..=255).map(|byte| gain(byte).exp2()).sum::<f64>() / 256.0;
                assert!((mean - 1.0).abs() < 1e-9, "{length}: {mean}");
            }
        }
    }

    #[test]
    fn bits_are_spread() {
        for byte in 0..=255_u8 {
            let bits: Vec<u8> = (0..8).map(|place| byte >> place & 1).collect();
            assert_eq!(spread(byte).to_le_bytes().to_vec(), bits);
        }
    }

    #[test]
    fn noise_has_no_structure() {
        let mut noise = noise();
        for length in [0, 1, 16, 40, 63, 64, 65, 450, 1400] {
            for _ in 0..2000 {
                assert!(!has_structure(&noise.bytes(length)), "{length}");
            }
        }
    }

    /// Packets of one kind that are not found, of a thousand.
    fn missed(mut make: impl FnMut(&mut Noise) -> Vec<u8>) -> usize {
        let mut noise = noise();
        (0..1000)
            .filter(|_| !has_structure(&make(&mut noise)))
            .count()
    }

    #[test]
    fn structure_is_found() {
        let text = |at: u8, length: usize| {
            let at = usize::from(at) % TEXT.len();
            repeated(&[&TEXT.as_bytes()[at..], TEXT.as_bytes()].concat(), length)
        };
        for length in [64, 100, 450, 1000] {
            assert_eq!(
                missed(|noise| text(noise.bytes(1)[0], length)),
                0,
                "text {length}"
            );
            assert_eq!(
                missed(|noise| {
                    let key = noise.bytes(2);
                    text(key[1], length)
                        .iter()
                        .map(|byte| byte ^ key[0])
                        .collect()
                }),
                0,
                "text, changed by an XOR, {length}"
            );
            assert_eq!(
                missed(|_| repeated(JSON.as_bytes(), length)),
                0,
                "JSON {length}"
            );
            assert_eq!(
                missed(|noise| vec![noise.bytes(1)[0]; length]),
                0,
                "filled {length}"
            );
            assert_eq!(
                missed(|_| (0..=255).cycle().take(length).collect()),
                0,
                "a ramp {length}"
            );
            assert_eq!(
                missed(|noise| repeated(&noise.bytes(16), length)),
                0,
                "one record again and again {length}"
            );
            assert_eq!(
                missed(|noise| {
                    let hex = |byte: u8| b"0123456789abcdef"[usize::from(byte % 16)];
                    noise.bytes(length).into_iter().map(hex).collect()
                }),
                0,
                "hexadecimal {length}"
            );
            assert_eq!(
                missed(|noise| {
                    let sign = |byte: u8| BASE64[usize::from(byte % 64)];
                    noise.bytes(length).into_iter().map(sign).collect()
                }),
                0,
                "base64 {length}"
            );
        }
        let long = |noise: &mut Noise| repeated(&noise.bytes(32), 192);
        assert_eq!(missed(long), 0, "a longer record");
        for length in [96, 450, 1000] {
            assert_eq!(
                missed(|noise| {
                    let record = |noise: &mut Noise| [&noise.bytes(4)[..], &[0; 8]].concat();
                    (0..length / 12).flat_map(|_| record(noise)).collect()
                }),
                0,
                "records with fields of zeros {length}"
            );
        }
    }

    #[test]
    fn noise_before_or_behind_does_not_hide_it() {
        for before in [0, 16, 100, 400] {
            for behind in [0, 16, 1000] {
                let found = missed(|noise| {
                    let text = repeated(TEXT.as_bytes(), 128);
                    [noise.bytes(before), text, noise.bytes(behind)].concat()
                });
                assert_eq!(found, 0, "{before} bytes of noise before, {behind} behind");
            }
        }
    }

    #[test]
    fn of_few_bytes_only_the_plainest_are_found() {
        assert_eq!(missed(|_| vec![0; 8]), 0);
        assert_eq!(missed(|_| TEXT.as_bytes()[..56].to_vec()), 0);
        assert_eq!(missed(|_| TEXT.as_bytes()[..24].to_vec()), 1000);
    }

    #[test]
    fn a_program_is_structure() {
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let parts = program.chunks_exact(500).take(2000);
        let found = parts.clone().filter(|part| has_structure(part)).count();
        assert!(found * 100 >= parts.count() * 95, "{found}");
    }
}
