//! One connection that is read to its end.

use crate::net::socket;
use crate::net::tcp_info::TcpInfo;
use crate::protocol::failure::{Failure, during};
use crate::protocol::values::Canary;
use crate::tasks::context::Context;
use crate::timing::clock;
use crate::timing::ticker::Ticker;
use serde::Serialize;
use socket2::Socket;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};

const BUFFER: usize = 256 * 1024;
/// How much of what each call reads is compared with the canary.
const SAMPLE: usize = 64;

#[derive(Debug, Clone, Serialize)]
pub struct Interval {
    pub t_ns: u64,
    pub bytes: u64,
    /// Memory of packets that had arrived by its end and were not read: a later interval counts
    /// their bytes.
    pub unread: u64,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The other end has finished.
    Closed,
    Reset,
    Stopped,
    Deadline,
}

/// `bytes` are those behind the token.
#[derive(Debug, Clone, Serialize)]
pub struct Drained {
    pub bytes: u64,
    pub first_ns: Option<u64>,
    pub last_ns: Option<u64>,
    pub ended: End,
    pub corrupt_samples: u64,
    pub intervals: Vec<Interval>,
    pub tcp_info: Option<TcpInfo>,
}

/// How to read.
pub struct Reading<'a> {
    pub canary: Option<&'a Canary>,
    pub interval_ms: u32,
    pub begun_ns: u64,
    pub deadline_ns: u64,
    /// Whether intervals are reported as they end; those of one of many streams are not.
    pub reported: bool,
}

pub fn drain(
    mut connection: &Socket,
    reading: &Reading<'_>,
    context: &Context,
) -> Result<Drained, Failure> {
    connection
        .set_read_timeout(Some(socket::look_every(reading.interval_ms)))
        .map_err(during("read TCP: set a timeout"))?;
    let expected = reading.canary.map(Expected::new);
    let mut buffer = vec![0; BUFFER];
    let mut ticker = Ticker::new(reading.begun_ns, reading.interval_ms);
    let mut boundary_bytes = 0;
    let mut drained = Drained {
        bytes: 0,
        first_ns: None,
        last_ns: None,
        ended: End::Deadline,
        corrupt_samples: 0,
        intervals: Vec::new(),
        tcp_info: None,
    };
    drained.ended = loop {
        let read = connection.read(&mut buffer);
        let now_ns = clock::monotonic_ns();
        let ended = match read {
            Ok(0) if context.stop.requested() => Some(End::Stopped),
            Ok(0) => Some(End::Closed),
            Ok(length) => {
                if let Some(expected) = &expected {
                    let matches = expected.matches(drained.bytes, &buffer[..length]);
                    drained.corrupt_samples += u64::from(!matches);
                }
                drained.bytes += length as u64;
                drained.first_ns.get_or_insert(now_ns);
                drained.last_ns = Some(now_ns);
                (now_ns >= reading.deadline_ns).then_some(End::Deadline)
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                (now_ns >= reading.deadline_ns).then_some(End::Deadline)
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Some(End::Reset),
            Err(error) => return Err(Failure::io("read TCP", &error)),
        };
        if ended.is_some() || ticker.passed(now_ns) {
            let interval = Interval {
                t_ns: now_ns,
                bytes: drained.bytes - boundary_bytes,
                unread: socket::unread_memory(connection).unwrap_or(0).into(),
            };
            boundary_bytes = drained.bytes;
            if reading.reported {
                context.interval(&interval);
            }
            drained.intervals.push(interval);
        }
        if let Some(ended) = ended {
            break ended;
        }
    };
    drained.tcp_info = TcpInfo::of(connection).ok();
    Ok(drained)
}

/// All streams as if they were one. `None` of no streams.
///
/// An interval ends when it does for the first of them, the last one for all: the bytes of later
/// intervals arrived or were unread after the end of each earlier one. So it is one that no stream
/// lacks.
pub fn together(streams: &[Drained], begun_ns: u64, interval_ms: u32) -> Option<Drained> {
    let [first, rest @ ..] = streams else {
        return None;
    };
    if rest.is_empty() {
        return Some(first.clone());
    }
    let step_ns = u64::from(interval_ms.max(1)) * 1_000_000;
    let number = |interval: &Interval| interval.t_ns.saturating_sub(begun_ns) / step_ns;
    let mut found: BTreeMap<u64, Vec<&Interval>> = BTreeMap::new();
    for interval in streams.iter().flat_map(|stream| &stream.intervals) {
        found.entry(number(interval)).or_default().push(interval);
    }
    let ends = || streams.iter().filter_map(|stream| stream.intervals.last());
    let ended_ns = ends().map(|interval| interval.t_ns).max().unwrap_or(0);
    let (mut intervals, mut bytes) = (Vec::new(), 0);
    for (each, parts) in &found {
        bytes += parts.iter().map(|part| part.bytes).sum::<u64>();
        let open = ends().filter(|end| number(end) >= *each).count();
        let last = found.last_key_value().is_some_and(|(last, _)| last == each);
        if last || parts.len() >= open {
            intervals.push(Interval {
                t_ns: if last {
                    ended_ns
                } else {
                    parts.iter().map(|part| part.t_ns).min()?
                },
                bytes: std::mem::take(&mut bytes),
                unread: parts.iter().map(|part| part.unread).sum(),
            });
        }
    }
    let info = streams.iter().filter_map(|stream| stream.tcp_info);
    Some(Drained {
        bytes: streams.iter().map(|stream| stream.bytes).sum(),
        first_ns: streams.iter().filter_map(|stream| stream.first_ns).min(),
        last_ns: streams.iter().filter_map(|stream| stream.last_ns).max(),
        ended: streams
            .iter()
            .map(|stream| stream.ended)
            .find(|ended| !matches!(ended, End::Closed))
            .unwrap_or(End::Closed),
        corrupt_samples: streams.iter().map(|stream| stream.corrupt_samples).sum(),
        intervals,
        tcp_info: info.reduce(|sum, info| sum.plus(&info)),
    })
}

/// The canary at any position of the stream.
struct Expected {
    period: usize,
    repeated: Vec<u8>,
}

impl Expected {
    fn new(canary: &Canary) -> Expected {
        let period = canary.bytes().len();
        Expected {
            period,
            repeated: canary.repeated(period + SAMPLE),
        }
    }

    fn matches(&self, position: u64, read: &[u8]) -> bool {
        let sample = &read[..read.len().min(SAMPLE)];
        let start = (position % self.period as u64) as usize;
        self.repeated[start..start + sample.len()] == *sample
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn drained(intervals: &[(u64, u64, u64)]) -> Drained {
        let interval = |&(t_ns, bytes, unread): &(u64, u64, u64)| Interval {
            t_ns,
            bytes,
            unread,
        };
        Drained {
            bytes: intervals.iter().map(|each| each.1).sum(),
            first_ns: Some(0),
            last_ns: Some(intervals.last().unwrap().0),
            ended: End::Closed,
            corrupt_samples: 0,
            intervals: intervals.iter().map(interval).collect(),
            tcp_info: None,
        }
    }

    #[test]
    fn an_interval_of_all_streams_ends_with_the_first_of_them() {
        const MS: u64 = 1_000_000;
        let a = drained(&[(105 * MS, 1, 0), (203 * MS, 2, 5), (310 * MS, 4, 0)]);
        // Nothing was read in the second interval: what is read then had arrived meanwhile.
        let b = drained(&[(120 * MS, 10, 7), (301 * MS, 20, 0), (402 * MS, 40, 0)]);
        let all = together(&[a, b], 0, 100).unwrap();
        let found = all
            .intervals
            .iter()
            .map(|one| (one.t_ns / MS, one.bytes, one.unread));
        let expected = [(105, 11, 7), (301, 26, 0), (402, 40, 0)];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        assert_eq!(all.bytes, 77);
    }

    proptest! {
        #[test]
        fn a_stream_of_canaries_matches_everywhere(position in 0_u64..10_000, length in 0_usize..200) {
            let canary = Canary::default();
            let stream = canary.repeated(position as usize + length);
            let mut read = stream[position as usize..].to_vec();
            let expected = Expected::new(&canary);
            prop_assert!(expected.matches(position, &read));
            if let Some(first) = read.first_mut() {
                *first ^= 1;
                prop_assert!(!expected.matches(position, &read));
            }
        }
    }
}
