//! Sizes of the payloads of a stream: one, a list, an IMIX (RFC 6985) or a sweep. Pure.

use crate::packet::header::{HEADER_LENGTH, MAX_PAYLOAD};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Of IPv4 and UDP: a genome lists sizes of IP packets.
const HEADERS: usize = 28;
/// A longer pattern would not repeat within a usual measurement.
const LONGEST: usize = 100_000;
/// RFC 6985, section 3. `z` (the MTU) and `A` to `Z` need `sizes`.
const GENOME: [(char, usize); 10] = [
    ('a', 64),
    ('b', 128),
    ('c', 256),
    ('d', 512),
    ('e', 1024),
    ('f', 1280),
    ('g', 1518),
    ('h', 2112),
    ('i', 9000),
    ('j', 16000),
];

/// A pattern of UDP payload sizes in bytes, repeated for ever. Never empty.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "Value", into = "Vec<usize>")]
pub struct Sizes(Vec<usize>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Imix {
    imix: String,
    /// Sizes of IP packets for letters, before those of the RFC.
    #[serde(default)]
    sizes: BTreeMap<char, usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sweep {
    from: usize,
    to: usize,
    step: usize,
}

impl Sizes {
    pub fn new(pattern: Vec<usize>) -> Result<Sizes, String> {
        if pattern.is_empty() || pattern.len() > LONGEST {
            return Err(format!("{} sizes: give 1 to {LONGEST}", pattern.len()));
        }
        let fits = |size: &&usize| !(HEADER_LENGTH..=MAX_PAYLOAD).contains(*size);
        if let Some(size) = pattern.iter().find(fits) {
            return Err(format!(
                "{size} bytes: a packet must hold the probe's header and fit into UDP, \
                 {HEADER_LENGTH} to {MAX_PAYLOAD} bytes of payload"
            ));
        }
        Ok(Sizes(pattern))
    }

    /// Packets of one size.
    pub fn one(size: usize) -> Sizes {
        Sizes(vec![size])
    }

    /// The size of packet number `n`.
    pub fn of(&self, n: u64) -> usize {
        match self.0.as_slice() {
            [size] => *size,
            pattern => pattern[(n % pattern.len() as u64) as usize],
        }
    }

    /// The size, if all packets have the same.
    pub fn uniform(&self) -> Option<usize> {
        let first = self.0[0];
        self.0.iter().all(|&size| size == first).then_some(first)
    }

    pub fn largest(&self) -> usize {
        self.0.iter().copied().max().unwrap_or(HEADER_LENGTH)
    }
}

impl From<Sizes> for Vec<usize> {
    fn from(sizes: Sizes) -> Vec<usize> {
        sizes.0
    }
}

impl TryFrom<Value> for Sizes {
    type Error = String;

    fn try_from(value: Value) -> Result<Sizes, String> {
        match value {
            Value::Number(number) => Sizes::new(vec![whole(&number)?]),
            Value::Array(list) => Sizes::new(read(Value::Array(list))?),
            Value::Object(fields) if fields.contains_key("imix") => {
                genome(&read::<Imix>(Value::Object(fields))?)
            }
            Value::Object(fields) => sweep(&read(Value::Object(fields))?),
            _ => Err(
                "payload_size: give a number, a list, {imix, sizes} or {from, to, step}".to_owned(),
            ),
        }
    }
}

fn whole(number: &serde_json::Number) -> Result<usize, String> {
    let size = number.as_u64().and_then(|size| usize::try_from(size).ok());
    size.ok_or_else(|| format!("payload_size {number}: not a whole number of bytes"))
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| format!("payload_size: {error}"))
}

/// A genome such as `aaaaaaabbbbc`, or the same with counts in front of letters: `7a4b1c`.
fn genome(imix: &Imix) -> Result<Sizes, String> {
    let mut pattern = Vec::new();
    let mut count: Option<usize> = None;
    for letter in imix.imix.chars() {
        if let Some(digit) = letter.to_digit(10) {
            let so_far = count.unwrap_or(0).saturating_mul(10);
            count = Some(so_far.saturating_add(digit as usize));
            continue;
        }
        let packet = packet_size(letter, &imix.sizes)?;
        let payload = packet.checked_sub(HEADERS);
        let payload =
            payload.ok_or_else(|| format!("imix: {letter} is {packet} bytes, too few"))?;
        let count = count.take().unwrap_or(1);
        if pattern.len().saturating_add(count) > LONGEST {
            return Err(format!("imix: longer than {LONGEST} packets"));
        }
        pattern.extend(std::iter::repeat_n(payload, count));
    }
    if count.is_some() {
        return Err("imix: ends with a count without its letter".to_owned());
    }
    Sizes::new(pattern)
}

fn packet_size(letter: char, own: &BTreeMap<char, usize>) -> Result<usize, String> {
    let of_rfc = || GENOME.iter().find(|(known, _)| *known == letter);
    let size = own
        .get(&letter)
        .copied()
        .or(of_rfc().map(|(_, size)| *size));
    size.ok_or_else(|| {
        format!("imix: {letter:?} is no letter of RFC 6985: give its bytes in `sizes`")
    })
}

fn sweep(sweep: &Sweep) -> Result<Sizes, String> {
    if sweep.step == 0 || sweep.from > sweep.to || sweep.to > MAX_PAYLOAD {
        return Err(format!(
            "sweep: step must not be 0, nor from more than to, nor to more than {MAX_PAYLOAD}"
        ));
    }
    Sizes::new((sweep.from..=sweep.to).step_by(sweep.step).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sizes(text: &str) -> Result<Sizes, serde_json::Error> {
        serde_json::from_str(text)
    }

    #[test]
    fn one_a_list_a_genome_and_a_sweep() {
        assert_eq!(sizes("36").unwrap().uniform(), Some(36));
        let list = sizes("[36, 100]").unwrap();
        assert_eq!((list.of(0), list.of(3), list.uniform()), (36, 100, None));
        let imix = sizes(r#"{"imix": "7A4B1C", "sizes": {"A": 64, "B": 576, "C": 1500}}"#).unwrap();
        let packets: Vec<usize> = (0..12).map(|n| imix.of(n) + HEADERS).collect();
        let expected = [vec![64; 7], vec![576; 4], vec![1500]].concat();
        assert_eq!(packets, expected);
        assert_eq!(sizes(r#"{"imix": "ag"}"#).unwrap().largest(), 1490);
        let swept = sizes(r#"{"from": 100, "to": 300, "step": 100}"#).unwrap();
        assert_eq!(swept, Sizes(vec![100, 200, 300]));
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for wrong in [
            "[]",
            "27",
            "-1",
            "1.5",
            "65508",
            "\"big\"",
            "[36, 1]",
            "null",
            r#"{"imix": "Q"}"#,
            r#"{"imix": "7"}"#,
            r#"{"imix": ""}"#,
            r#"{"imix": "999999999a"}"#,
            r#"{"from": 100, "to": 50, "step": 1}"#,
            r#"{"from": 1, "to": 2, "step": 0}"#,
            r#"{"imix": "a", "size": {}}"#,
        ] {
            assert!(sizes(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_genome_is_read_or_refused(genome in "[a-zA-Z0-9]{0,20}", a: usize) {
            let text = serde_json::json!({"imix": genome, "sizes": {"A": a}});
            if let Ok(sizes) = Sizes::try_from(text) {
                prop_assert!(sizes.largest() <= MAX_PAYLOAD);
            }
        }
    }
}
