//! Frames of a video: which packets make each, and when they are due. Pure.
//!
//! ```text
//!   frame   0 (key)              1         2         3 (key) ...
//!   packet  0  1  2  3  4        5  6      7  8      9 10 ...
//!           |-- spread --|       |-- spread --|
//!           |--- 1 / per_s ------|--- 1 / per_s ---|
//! ```

use crate::protocol::values::Rate;
use serde::Deserialize;

/// Packets of a group: as many as a pattern of sizes may have.
const MOST_PACKETS: u64 = 100_000;
/// Frames of a stream that a sink keeps books on: four hours at 60/s.
const MOST_FRAMES: u64 = 1 << 20;

/// A group of frames, repeated for as long as the stream lasts.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Written")]
pub struct Frames {
    /// Packets before each frame of the group, and those of all at the end.
    before: Vec<u64>,
    per_s: Rate,
    spread: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    /// Of each frame of the group.
    packets: Vec<u32>,
    per_s: Rate,
    /// Share of a frame's time over which its packets are spread evenly.
    spread: f64,
}

impl TryFrom<Written> for Frames {
    type Error = String;

    fn try_from(written: Written) -> Result<Frames, String> {
        let mut before = vec![0];
        for &packets in &written.packets {
            before.push(before[before.len() - 1] + u64::from(packets));
        }
        let all = before[before.len() - 1];
        if written.packets.contains(&0) || !(1..=MOST_PACKETS).contains(&all) {
            return Err(format!(
                "frames: {all} packets: give each frame one or more, and all together at most \
                 {MOST_PACKETS}"
            ));
        }
        if !(0.0..=1.0).contains(&written.spread) {
            return Err(format!("frames: spread {}: give 0 to 1", written.spread));
        }
        Ok(Frames {
            before,
            per_s: written.per_s,
            spread: written.spread,
        })
    }
}

/// The place of a packet.
struct Place {
    frame: u64,
    /// Within the frame.
    packet: u64,
    of: u64,
}

impl Frames {
    fn place(&self, sequence: u64) -> Place {
        let (all, count) = (self.before[self.before.len() - 1], self.before.len() - 1);
        let within = sequence % all;
        let index = self.before.partition_point(|&before| before <= within) - 1;
        Place {
            frame: (sequence / all)
                .saturating_mul(count as u64)
                .saturating_add(index as u64),
            packet: within - self.before[index],
            of: self.before[index + 1] - self.before[index],
        }
    }

    /// When a packet of a stream that starts at `start_ns` is due. Times never go back.
    pub fn due_ns(&self, start_ns: u64, sequence: u64) -> u64 {
        let place = self.place(sequence);
        let within = self.spread * place.packet as f64 / place.of as f64;
        let elapsed_ns = (place.frame as f64 + within) * 1e9 / self.per_s.per_second();
        start_ns.saturating_add(elapsed_ns as u64)
    }

    /// Packets per second, on average.
    pub fn mean_rate(&self) -> Rate {
        let (all, count) = (self.before[self.before.len() - 1], self.before.len() - 1);
        let mean = self.per_s.per_second() * all as f64 / count as f64;
        Rate::new(mean).unwrap_or(self.per_s)
    }
}

/// When the frames of a stream had arrived, each with its last packet.
pub struct Completion {
    frames: Frames,
    books: Vec<Book>,
}

#[derive(Clone, Default)]
struct Book {
    arrived: u64,
    of: u64,
    last_ns: u64,
}

impl Completion {
    pub fn new(frames: Frames) -> Completion {
        Completion {
            frames,
            books: Vec::new(),
        }
    }

    /// A packet that had not arrived before.
    pub fn record(&mut self, sequence: u64, arrived_ns: u64) {
        let place = self.frames.place(sequence);
        if place.frame >= MOST_FRAMES {
            return;
        }
        let index = place.frame as usize;
        if index >= self.books.len() {
            self.books.resize(index + 1, Book::default());
        }
        let book = &mut self.books[index];
        book.of = place.of;
        book.arrived += 1;
        book.last_ns = book.last_ns.max(arrived_ns);
    }

    /// The time of each frame up to the last of which a packet arrived; None: a packet of it is missing.
    pub fn times_ns(self) -> Vec<Option<u64>> {
        let whole = |book: Book| (book.of > 0 && book.arrived >= book.of).then_some(book.last_ns);
        self.books.into_iter().map(whole).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn frames(packets: &[u32], spread: f64) -> Frames {
        let text = json!({"packets": packets, "per_s": 100, "spread": spread});
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn packets_are_spread_within_their_frame() {
        let frames = frames(&[4, 1], 0.5);
        let due: Vec<u64> = (0..7).map(|n| frames.due_ns(7, n)).collect();
        let ms = 1_000_000;
        assert_eq!(
            due[..4],
            [7, 7 + 5 * ms / 4, 7 + 5 * ms / 2, 7 + 15 * ms / 4]
        );
        assert_eq!(due[4..6], [7 + 10 * ms, 7 + 20 * ms]);
        assert_eq!(frames.mean_rate().per_second(), 250.0);
    }

    #[test]
    fn a_frame_is_whole_with_its_last_packet_in_any_order() {
        let mut completion = Completion::new(frames(&[2, 3], 0.0));
        for (sequence, arrived_ns) in [(1, 50), (0, 70), (2, 80), (4, 81), (6, 95), (5, 90)] {
            completion.record(sequence, arrived_ns);
        }
        // Of the second frame packet 3 is missing.
        assert_eq!(completion.times_ns(), [Some(70), None, Some(95)]);
    }

    #[test]
    fn a_number_from_far_ahead_takes_no_memory() {
        let mut completion = Completion::new(frames(&[1], 0.0));
        completion.record(1 << 47, 5);
        assert!(completion.times_ns().is_empty());
    }

    #[test]
    fn what_is_no_group_is_refused() {
        for wrong in [
            json!({"packets": [], "per_s": 60, "spread": 0}),
            json!({"packets": [1, 0], "per_s": 60, "spread": 0}),
            json!({"packets": [100_001], "per_s": 60, "spread": 0}),
            json!({"packets": [1], "per_s": 0, "spread": 0}),
            json!({"packets": [1], "per_s": 60, "spread": 1.5}),
            json!({"packets": [1], "per_s": 60, "spread": 0, "x": 1}),
        ] {
            assert!(
                serde_json::from_value::<Frames>(wrong.clone()).is_err(),
                "{wrong}"
            );
        }
    }

    proptest! {
        #[test]
        fn times_never_go_back_and_frames_have_their_packets(
            packets in prop::collection::vec(1_u32..50, 1..20), spread in 0.0_f64..=1.0,
        ) {
            let frames = frames(&packets, spread);
            let all = 3 * packets.iter().sum::<u32>();
            let due: Vec<u64> = (0..u64::from(all)).map(|n| frames.due_ns(0, n)).collect();
            prop_assert!(due.is_sorted());
            let mut completion = Completion::new(frames);
            (0..u64::from(all)).for_each(|n| completion.record(n, n + 1));
            let times = completion.times_ns();
            prop_assert_eq!(times.len(), 3 * packets.len());
            prop_assert_eq!(times[packets.len() - 1], Some(u64::from(all / 3)));
            prop_assert!(times.iter().all(Option::is_some));
        }
    }
}
