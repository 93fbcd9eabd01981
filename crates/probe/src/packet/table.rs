//! What packets have in common: nothing, if they are ciphertext.
//!
//! ```text
//!              offset in the ciphertext
//!              0   1   2   3   4  ...
//!   packet 1   c1  07  5e  90  aa     a row: `noise` judges it alone, when it is captured
//!   packet 2   3f  07  22  8b  19
//!   packet 3   d4  07  8b  19  c6     a column: `noise` judges it too; all packets have 07 there
//!                  |   ------         a run: bytes in a row that two packets have
//! ```
//!
//! A key stream used twice, a header in clear text, padding with a constant: each packet alone looks
//! random, and all of them together do not.

use super::noise::has_structure;
use crate::timing::random;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Rows that are kept, chosen at random.
const ROWS: usize = 1024;
/// Bytes of a row that are kept: all of a packet of a usual link.
const ROW_BYTES: usize = 1500;
/// Bytes in a row that no two packets share: source, destination and ports of a connection inside.
/// Of ciphertext 1,024 rows of 1,500 bytes, 2^20.6 windows, share such a run with a probability of
/// 2^(2 x 20.6 - 1 - 8 x 12) < 2^-55.
pub const RUN: usize = 12;
/// All windows up to here are compared; behind it those whose content chooses them, one in
/// `2^SPARSE_BITS`: equal windows are chosen in all packets.
const DENSE_BYTES: usize = 256;
const SPARSE_BITS: u32 = 3;

/// Which rows have the same columns: a kind of message in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// None: its bytes have no known place in a message.
    pub message: Option<usize>,
    pub outgoing: bool,
}

struct Row<T> {
    kind: Kind,
    bytes: Vec<u8>,
    of: T,
}

/// A random sample of the rows that were added.
pub struct Table<T> {
    rows: Vec<Row<T>>,
    added: u64,
    random: u64,
}

/// What ciphertext does not have.
#[derive(Debug)]
pub struct Common<T> {
    /// Rows that were compared with each other.
    pub rows: usize,
    /// Those that have a run of an earlier one.
    pub sharing: Vec<T>,
    /// Columns that were judged.
    pub columns: usize,
    /// Offsets, each with structure in a column of one kind of message.
    pub structured: Vec<usize>,
}

impl<T> Table<T> {
    pub fn new(seed: u64) -> Table<T> {
        Table {
            rows: Vec::new(),
            added: 0,
            random: seed,
        }
    }

    /// Each of the rows so far is in the sample with the same probability (Vitter's algorithm R).
    pub fn add(&mut self, kind: Kind, bytes: &[u8], of: impl FnOnce() -> T) {
        self.added += 1;
        let place = if self.rows.len() < ROWS {
            self.rows.len()
        } else {
            (random::next(&mut self.random) % self.added) as usize
        };
        if place >= ROWS {
            return;
        }
        let row = Row {
            kind,
            bytes: bytes[..bytes.len().min(ROW_BYTES)].to_vec(),
            of: of(),
        };
        match self.rows.get_mut(place) {
            Some(old) => *old = row,
            None => self.rows.push(row),
        }
    }

    pub fn common(self) -> Common<T> {
        let (columns, structured) = self.columns();
        let sharing = self.sharing();
        Common {
            rows: self.rows.len(),
            columns,
            structured,
            sharing: self
                .rows
                .into_iter()
                .enumerate()
                .filter(|(number, _)| sharing.contains(number))
                .map(|(_, row)| row.of)
                .collect(),
        }
    }

    fn columns(&self) -> (usize, Vec<usize>) {
        let mut kinds: BTreeMap<Kind, Vec<&[u8]>> = BTreeMap::new();
        for row in self.rows.iter().filter(|row| row.kind.message.is_some()) {
            kinds.entry(row.kind).or_default().push(&row.bytes);
        }
        let (mut judged, mut structured) = (0, Vec::new());
        for rows in kinds.values() {
            let longest = rows.iter().map(|row| row.len()).max().unwrap_or_default();
            judged += longest;
            structured.extend((0..longest).filter(|&at| {
                let column: Vec<u8> = rows.iter().filter_map(|row| row.get(at).copied()).collect();
                has_structure(&column)
            }));
        }
        structured.sort_unstable();
        structured.dedup();
        (judged, structured)
    }

    /// Numbers of the rows that have a run of an earlier one, or one of their own twice.
    fn sharing(&self) -> HashSet<usize> {
        let mut first: HashMap<(bool, [u8; RUN]), usize> = HashMap::new();
        let mut found = HashSet::new();
        for (number, row) in self.rows.iter().enumerate() {
            for (at, window) in row.bytes.windows(RUN).enumerate() {
                let Ok(window) = <[u8; RUN]>::try_from(window) else {
                    continue;
                };
                if at >= DENSE_BYTES && !is_chosen(&window) {
                    continue;
                }
                let known = first.insert((row.kind.outgoing, window), number);
                if known.is_some() {
                    found.insert(number);
                }
            }
        }
        found
    }
}

fn is_chosen(window: &[u8; RUN]) -> bool {
    let (head, tail) = window.split_at(8);
    let mut mixed = head
        .iter()
        .chain(tail)
        .fold(0_u64, |mixed, byte| mixed.rotate_left(7) ^ u64::from(*byte));
    random::next(&mut mixed) >> (64 - SPARSE_BITS) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DATA: Kind = Kind {
        message: Some(0),
        outgoing: true,
    };

    struct Noise(u64);

    impl Noise {
        fn bytes(&mut self, length: usize) -> Vec<u8> {
            (0..length)
                .map(|_| (random::next(&mut self.0) >> 56) as u8)
                .collect()
        }
    }

    fn of(count: usize, mut row: impl FnMut(usize) -> Vec<u8>) -> Common<usize> {
        let mut table = Table::new(1);
        for number in 0..count {
            table.add(DATA, &row(number), || number);
        }
        table.common()
    }

    fn is_noise<T>(common: &Common<T>) -> bool {
        common.sharing.is_empty() && common.structured.is_empty()
    }

    #[test]
    fn ciphertext_has_nothing_in_common() {
        for seed in 0..20 {
            let mut noise = Noise(seed);
            let common = of(1500, |number| noise.bytes([1400, 60, 300][number % 3]));
            assert!(is_noise(&common), "{seed}");
            assert_eq!((common.rows, common.columns), (ROWS, 1400));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn a_run_in_two_packets_is_found_wherever_it_is(
            seed: u64, at in 0..DENSE_BYTES, other in 0..DENSE_BYTES, between in 0..100_usize,
        ) {
            let mut noise = Noise(seed);
            let run = noise.bytes(RUN);
            let common = of(between + 2, |number| {
                let mut row = noise.bytes(400);
                let place = [at, other][usize::from(number > 0)];
                if number == 0 || number == between + 1 {
                    row[place..place + RUN].copy_from_slice(&run);
                }
                row
            });
            prop_assert_eq!(common.sharing, vec![between + 1]);
        }

        #[test]
        fn one_byte_less_is_no_run(seed: u64, at in 0..300_usize) {
            let mut noise = Noise(seed);
            let run = noise.bytes(RUN - 1);
            let common = of(2, |number| {
                let mut row = noise.bytes(400);
                row[at..at + RUN - 1].copy_from_slice(&run);
                row[at + RUN - 1] = number as u8; // else they may agree by chance
                if at > 0 {
                    row[at - 1] = number as u8;
                }
                row
            });
            prop_assert!(common.sharing.is_empty());
        }

        #[test]
        fn any_bytes_are_judged_without_harm(
            rows in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..40),
        ) {
            let mut table = Table::new(0);
            for (number, row) in rows.iter().enumerate() {
                let message = (number % 3 > 0).then_some(number % 2);
                table.add(Kind { message, outgoing: number % 2 > 0 }, row, || ());
            }
            prop_assert_eq!(table.common().rows, rows.len());
        }
    }

    #[test]
    fn a_long_run_behind_the_first_bytes_is_found_in_many() {
        let mut noise = Noise(2);
        let constant = noise.bytes(1000);
        let common = of(40, |_| [noise.bytes(400), constant.clone()].concat());
        assert_eq!(common.sharing.len(), 39);
        assert_eq!(common.structured.len(), 1000);
    }

    #[test]
    fn a_key_stream_that_is_used_twice_is_found() {
        let mut noise = Noise(3);
        let pad = noise.bytes(100);
        for packets in [30, 300] {
            let common = of(packets, |number| {
                let text = format!("{number:08} and {:04} of a text that varies", number * 7);
                let text = text.bytes().cycle();
                pad.iter()
                    .zip(text)
                    .map(|(one, other)| one ^ other)
                    .collect()
            });
            assert!(!common.structured.is_empty(), "{packets}");
            assert_eq!(common.sharing.len(), packets - 1);
        }
    }

    #[test]
    fn columns_are_those_of_one_kind_and_direction() {
        let mut noise = Noise(4);
        let mut table = Table::new(1);
        for number in 0..400_usize {
            let mut row = noise.bytes(50);
            let kind = Kind {
                message: [None, Some(0), Some(1)][number % 3],
                outgoing: number % 2 > 0,
            };
            if kind.message == Some(1) && kind.outgoing {
                row[7] = 0;
            }
            table.add(kind, &row, || ());
        }
        let common = table.common();
        assert_eq!((common.structured, common.columns), (vec![7], 200));
        assert!(common.sharing.is_empty());
    }

    #[test]
    fn few_values_in_a_column_are_found() {
        let mut noise = Noise(5);
        for (values, packets) in [(1, 8), (2, 12), (16, 40), (64, 192)] {
            let found = (0..50).filter(|_| {
                let common = of(packets, |_| {
                    noise.bytes(1).iter().map(|b| b % values).collect()
                });
                !common.structured.is_empty()
            });
            assert_eq!(found.count(), 50, "{values} in {packets}");
        }
    }

    #[test]
    fn of_many_rows_a_random_sample_is_kept() {
        let mut noise = Noise(6);
        let mut table = Table::new(9);
        for number in 0..20 * ROWS {
            table.add(DATA, &noise.bytes(16), || number);
        }
        let mean = table.rows.iter().map(|row| row.of as f64).sum::<f64>() / ROWS as f64;
        let middle = 10.0 * ROWS as f64;
        assert!((mean / middle - 1.0).abs() < 0.1, "{mean}");
    }
}
