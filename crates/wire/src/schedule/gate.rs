//! A link is never faster than its rate, even where packets are handed out late.
//!
//! Each packet took its time on the link. Whoever hands packets out may be woken up late and then
//! finds several that are due. They leave at most at twice the rate, and never more in 10 ms than
//! the link carries in that time, plus one packet:
//!
//! ```text
//!   due        | | | | | | | | | | |
//!   at once    |   (asleep)  |||||| | | |
//!   here       |             |  | || | | | |
//! ```

use std::collections::VecDeque;

/// A link takes packets by this part more slowly than requested (0.2 %): what lateness has
/// cost is made up for without ever being faster than requested.
pub const SLACK: u64 = 500;
/// In which the rate holds.
pub const WINDOW_NS: u64 = 10_000_000;
/// What timers are late anyway: packets of so long may leave together.
const TOGETHER_NS: u64 = 400_000;

#[derive(Debug, Default)]
pub struct Gate {
    /// When packets left in the last window, and the times that they had taken on the link.
    recent: VecDeque<(u64, u64)>,
    recent_link_ns: u64,
    /// Twice the rate: where it would be.
    paced_ns: u64,
    /// When it was found closed, while a packet that was due waited, and until when it was.
    found_closed: VecDeque<(u64, u64)>,
}

impl Gate {
    /// When a packet that took `link_ns` on the link may leave, as far as is known.
    pub fn opens_ns(&self, link_ns: u64) -> u64 {
        if link_ns == 0 {
            return 0;
        }
        let mut opens_ns = self.paced_ns.saturating_add(link_ns / 2);
        let mut within_ns = self.recent_link_ns.saturating_add(link_ns);
        for (left_ns, took_ns) in &self.recent {
            // the oldest of a window was partly sent before it
            if within_ns - took_ns <= WINDOW_NS {
                break;
            }
            within_ns -= took_ns;
            opens_ns = opens_ns.max(left_ns + WINDOW_NS + 1);
        }
        opens_ns
    }

    /// The newest packet had left by now, and not before.
    pub fn had_left_by(&mut self, now_ns: u64) {
        if let Some((left_ns, _)) = self.recent.back_mut() {
            *left_ns = now_ns.max(*left_ns);
        }
    }

    /// It is found closed, until then.
    pub fn found_closed(&mut self, now_ns: u64, until_ns: u64) {
        if self
            .found_closed
            .back()
            .is_none_or(|(_, last_ns)| *last_ns < until_ns)
        {
            self.found_closed.push_back((now_ns, until_ns));
        }
    }

    /// When the caller came for a packet that was due and leaves now, or that could not leave
    /// yet. Packets are requested in the order in which they are due.
    pub fn came_for_ns(&mut self, due_ns: u64, now_ns: u64) -> u64 {
        while let Some((at_ns, until_ns)) = self.found_closed.front() {
            if *until_ns >= due_ns {
                return due_ns.max(*at_ns);
            }
            self.found_closed.pop_front();
        }
        now_ns
    }

    /// A packet leaves.
    pub fn passed(&mut self, now_ns: u64, link_ns: u64) {
        if link_ns == 0 {
            return;
        }
        while let Some((left_ns, took_ns)) = self.recent.front()
            && left_ns + WINDOW_NS < now_ns
        {
            self.recent_link_ns -= took_ns;
            self.recent.pop_front();
        }
        self.paced_ns = (self.paced_ns + link_ns / 2).max(now_ns.saturating_sub(TOGETHER_NS));
        self.recent_link_ns += link_ns;
        self.recent.push_back((now_ns, link_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Packets leave when they are due and the gate is open, but the caller may be asleep.
    fn leave(packets: &[(u64, u64)], asleep: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let (mut gate, mut left) = (Gate::default(), Vec::new());
        let mut now_ns = 0;
        for (due_ns, link_ns) in packets {
            now_ns = gate.opens_ns(*link_ns).max(*due_ns).max(now_ns);
            for (from_ns, until_ns) in asleep {
                if (*from_ns..*until_ns).contains(&now_ns) {
                    now_ns = *until_ns;
                }
            }
            gate.passed(now_ns, *link_ns);
            left.push((now_ns, *link_ns));
        }
        left
    }

    /// A link that sends packets of these times one after the other, with pauses.
    fn link(packets: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let mut done_ns = 1_000_000;
        let serve = |(pause_ns, link_ns): &(u64, u64)| {
            done_ns += pause_ns + link_ns;
            (done_ns, *link_ns)
        };
        packets.iter().map(serve).collect()
    }

    fn traffic() -> impl Strategy<Value = Vec<(u64, u64)>> {
        let pause = prop_oneof![9 => Just(0u64), 1 => 0..5_000_000u64];
        let took = prop_oneof![
            Just(12_112u64),
            Just(672),
            500..300_000u64,
            1..40_000_000u64
        ];
        prop::collection::vec((pause, took), 1..400)
    }

    proptest! {
        #[test]
        fn who_is_on_time_is_never_held_up(packets in traffic()) {
            let due = link(&packets);
            prop_assert_eq!(leave(&due, &[]), due);
        }

        #[test]
        fn no_window_has_more_than_the_link_carries_and_one_packet(
            packets in traffic(),
            naps in prop::collection::vec((0..60_000_000u64, 0..20_000_000u64), 0..5),
        ) {
            let asleep: Vec<_> = naps.iter().map(|(at, long)| (*at, at + long)).collect();
            let left = leave(&link(&packets), &asleep);
            for (index, (first_ns, first_took_ns)) in left.iter().enumerate() {
                let within = left[index..].iter().take_while(|(at, _)| at - first_ns <= WINDOW_NS);
                let took_ns: u64 = within.map(|(_, took)| took).sum();
                let most_ns = WINDOW_NS + first_took_ns;
                // a packet that takes longer than a window is one packet, too
                prop_assert!(took_ns <= most_ns || took_ns == *first_took_ns, "{took_ns}");
            }
        }
    }

    #[test]
    fn a_short_sleep_costs_nothing_in_the_long_run() {
        let due = link(&[(0, 12_112); 20_000]);
        let asleep: Vec<_> = (1..20)
            .map(|n| (n * 10_000_000, n * 10_000_000 + 2_000_000))
            .collect();
        let left = leave(&due, &asleep);
        let (last_due_ns, last_left_ns) = (due[19_999].0, left[19_999].0);
        assert!(
            last_left_ns - last_due_ns <= 2_000_000,
            "{}",
            last_left_ns - last_due_ns
        );
    }
}
