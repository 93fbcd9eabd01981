//! Values of requests that have a range: checked once, when they are read.

use serde::{Deserialize, Deserializer, de::Error};
use std::time::Duration;

/// A session's random token. Sinks ignore whatever does not carry it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Token(pub [u8; 16]);

impl Token {
    /// Eight bytes that stand for the token in each packet: the smallest payload is 36 bytes.
    pub fn tag(&self) -> [u8; 8] {
        std::array::from_fn(|i| self.0[i] ^ self.0[i + 8])
    }

    /// For what must differ from session to session and may be known.
    pub fn seed(&self) -> u64 {
        u64::from_le_bytes(self.tag())
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(..)")
    }
}

impl<'de> Deserialize<'de> for Token {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Token, D::Error> {
        let bytes = hex_bytes(&String::deserialize(deserializer)?)
            .ok_or_else(|| D::Error::custom("token: not hexadecimal"))?;
        let token = bytes
            .try_into()
            .map_err(|_| D::Error::custom("token: must be 16 bytes, 32 hexadecimal digits"))?;
        Ok(Token(token))
    }
}

/// Bytes that payloads repeat, and that a capture looks for: 8 to 64 of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canary(Vec<u8>);

impl Canary {
    pub fn new(bytes: Vec<u8>) -> Option<Canary> {
        (8..=64).contains(&bytes.len()).then_some(Canary(bytes))
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The canary repeated to `length` bytes.
    pub fn repeated(&self, length: usize) -> Vec<u8> {
        self.0.iter().copied().cycle().take(length).collect()
    }
}

impl Default for Canary {
    /// For requests that give none: neither zero nor text, the same in every run.
    fn default() -> Canary {
        // The fractional digits of pi, as is the custom for numbers with nothing up their sleeve.
        Canary(
            [
                0x243f_6a88_85a3_08d3_u64,
                0x1319_8a2e_0370_7344,
                0xa409_3822_299f_31d0,
                0x082e_fa98_ec4e_6c89,
            ]
            .iter()
            .flat_map(|word| word.to_be_bytes())
            .collect(),
        )
    }
}

impl<'de> Deserialize<'de> for Canary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Canary, D::Error> {
        hex_bytes(&String::deserialize(deserializer)?)
            .and_then(Canary::new)
            .ok_or_else(|| D::Error::custom("canary: must be 8 to 64 bytes in hexadecimal"))
    }
}

/// A length of time in seconds, more than 0 and at most a day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seconds(f64);

impl Seconds {
    pub const MAX: f64 = 86_400.0;

    pub fn new(seconds: f64) -> Option<Seconds> {
        (seconds > 0.0 && seconds <= Seconds::MAX).then_some(Seconds(seconds))
    }

    pub fn ns(self) -> u64 {
        (self.0 * 1e9).round() as u64
    }

    pub fn duration(self) -> Duration {
        Duration::from_secs_f64(self.0)
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Seconds, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        Seconds::new(seconds).ok_or_else(|| {
            D::Error::custom(format!(
                "{seconds} s: must be more than 0 and at most 86400"
            ))
        })
    }
}

/// Events per second, more than 0 and at most 100 million.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate(f64);

impl Rate {
    pub fn new(per_second: f64) -> Option<Rate> {
        (per_second > 0.0 && per_second <= 1e8).then_some(Rate(per_second))
    }

    pub fn per_second(self) -> f64 {
        self.0
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rate, D::Error> {
        let rate = f64::deserialize(deserializer)?;
        Rate::new(rate).ok_or_else(|| {
            D::Error::custom(format!("{rate}/s: must be more than 0 and at most 1e8"))
        })
    }
}

fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|digit| digit.to_digit(16).map(|value| value as u8))
        .collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(
        digits
            .chunks(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect(),
    )
}

/// Lower-case hexadecimal digits.
pub fn to_hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn hexadecimal_there_and_back(bytes: Vec<u8>) {
            prop_assert_eq!(hex_bytes(&to_hex(&bytes)), Some(bytes));
        }

        #[test]
        fn any_text_is_refused_or_read(text: String) {
            if let Some(bytes) = hex_bytes(&text) {
                prop_assert_eq!(to_hex(&bytes), text.to_lowercase());
            }
        }
    }

    #[test]
    fn seconds_have_a_range() {
        for text in ["0", "-1", "86401", "1e308"] {
            assert!(serde_json::from_str::<Seconds>(text).is_err(), "{text}");
        }
        assert_eq!(
            serde_json::from_str::<Seconds>("2.5").unwrap().ns(),
            2_500_000_000
        );
    }

    #[test]
    fn a_token_of_another_length_is_refused() {
        assert!(serde_json::from_str::<Token>("\"00ff\"").is_err());
        assert!(serde_json::from_str::<Token>(&format!("\"{}\"", "0f".repeat(16))).is_ok());
    }
}
