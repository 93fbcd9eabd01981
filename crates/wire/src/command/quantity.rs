//! Quantities with units: "100Mbit/s", "50ms", "1%". A number without a unit is refused as
//! ambiguous.

use std::str::FromStr;

/// Bits a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate(pub u64);

/// Nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duration(pub u64);

/// From 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share(pub f64);

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let units = [
            ("kbit/s", 1e3),
            ("Mbit/s", 1e6),
            ("Gbit/s", 1e9),
            ("Tbit/s", 1e12),
            ("bit/s", 1.0),
        ];
        whole(text, &units).map(Self).ok_or_else(|| {
            "a rate is written as 100Mbit/s (bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s)".to_string()
        })
    }
}

impl FromStr for Duration {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
        whole(text, &units)
            .map(Self)
            .ok_or_else(|| "a duration is written as 50ms (ns, us, ms, s)".to_string())
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        number(text, &[("%", 0.01)])
            .filter(|share| (0.0..=1.0).contains(share))
            .map(Self)
            .ok_or_else(|| "a share is written as 1%, from 0% to 100%".to_string())
    }
}

fn whole(text: &str, units: &[(&str, f64)]) -> Option<u64> {
    // beyond 2^53 not every whole number is there
    number(text, units)
        .map(f64::round)
        .filter(|value| *value < 9e15)
        .map(|value| value as u64)
}

fn number(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    units.iter().find_map(|(unit, size)| {
        let digits = text.trim().strip_suffix(unit)?.trim_end();
        let plain = digits
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
        plain
            .then(|| digits.parse::<f64>().ok())?
            .map(|value| value * size)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantities() {
        assert_eq!("100Mbit/s".parse(), Ok(Rate(100_000_000)));
        assert_eq!("0.5 Gbit/s".parse(), Ok(Rate(500_000_000)));
        assert_eq!("8000bit/s".parse(), Ok(Rate(8_000)));
        assert_eq!("50ms".parse(), Ok(Duration(50_000_000)));
        assert_eq!("2.5us".parse(), Ok(Duration(2_500)));
        assert_eq!("1s".parse(), Ok(Duration(1_000_000_000)));
        assert_eq!("30%".parse(), Ok(Share(0.3)));
    }

    #[test]
    fn what_is_none() {
        for text in [
            "", "5", "ms", "-1ms", "1e3ms", "nanms", "1 MBit/s", "5m", "infs", "1%",
        ] {
            assert!(text.parse::<Duration>().is_err(), "{text}");
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
        for text in ["101%", "-1%", "0.5", "x%"] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            let _ = (text.parse::<Rate>(), text.parse::<Duration>(), text.parse::<Share>());
        }
    }
}
