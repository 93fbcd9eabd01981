//! What happens to packets on one direction of a link: pure, told the time, owning no clock.
//!
//! ```text
//!   offered ──> queue ──> serialised at the rate ──> lost? ──> delay ──> departs
//!                 └─ full: dropped (tail drop)          └─ dropped
//! ```
//!
//! Loss comes behind the rate, as on a real link: a packet that is lost has taken its time on it.
//! Times are nanoseconds of any clock that does not go backwards.

use std::collections::VecDeque;
use std::num::NonZeroU64;

use crate::chance::{Chance, Probability, Purpose};

const NS_PER_S: u64 = 1_000_000_000;

/// How much may wait for the link; the packet that is being serialised counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueLimit {
    Packets(u64),
    Bytes(u64),
}

/// What the link does to packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conditions {
    /// Bits a second of frames (Ethernet header included, as tbf counts); None: no limit.
    pub rate_bps: Option<NonZeroU64>,
    /// Bytes that each frame takes on the link beyond its own (preamble, checksum, gap: 24).
    pub overhead_bytes: u32,
    /// Only a link with a rate has a queue.
    pub queue: QueueLimit,
    pub delay_ns: u64,
    pub loss: Probability,
    /// Memory for packets that are on their way; beyond it they are dropped as overrun.
    pub in_flight_limit_bytes: u64,
}

impl Default for Conditions {
    fn default() -> Self {
        Self {
            rate_bps: None,
            overhead_bytes: 0,
            queue: QueueLimit::Packets(1000),
            delay_ns: 0,
            loss: Probability::NEVER,
            in_flight_limit_bytes: 512 << 20,
        }
    }
}

/// Why a packet does not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drop {
    /// By the loss that was asked for.
    Lost,
    /// The queue before the rate was full.
    QueueFull,
    /// More was on its way than fits into memory: not a condition but a limit of ours.
    Overrun,
}

/// What became of an offered packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It departs at once; nothing was kept.
    Departs,
    /// It is kept until its time, in nanoseconds.
    Held(u64),
    Dropped(Drop),
}

/// One direction of a link. `T` is whatever stands for a packet.
#[derive(Debug)]
pub struct Schedule<T> {
    conditions: Conditions,
    chance: Chance,
    /// The number of the next packet that is offered, dropped ones included.
    number: u64,
    now_ns: u64,
    link: Serialiser,
    /// Packets that the link has not finished: when it will have, and their bytes.
    backlog: VecDeque<(u64, u64)>,
    backlog_bytes: u64,
    /// Packets on their way, in the order of departure, which is that of arrival.
    held: VecDeque<(u64, u64, T)>,
    held_bytes: u64,
}

impl<T> Schedule<T> {
    pub fn new(conditions: Conditions, chance: Chance) -> Self {
        Self {
            conditions,
            chance,
            number: 0,
            now_ns: 0,
            link: Serialiser::default(),
            backlog: VecDeque::new(),
            backlog_bytes: 0,
            held: VecDeque::new(),
            held_bytes: 0,
        }
    }

    /// Offer a packet of `bytes`; `keep` is called only if it has to be held.
    ///
    /// A `now_ns` before that of an earlier call counts as the earlier one.
    pub fn offer(&mut self, now_ns: u64, bytes: u64, keep: impl FnOnce() -> T) -> Outcome {
        self.advance(now_ns);
        let number = self.number;
        self.number += 1;

        let Some(serialised_ns) = self.serialise(bytes) else {
            return Outcome::Dropped(Drop::QueueFull);
        };
        if self
            .chance
            .happens(Purpose::Loss, number, self.conditions.loss)
        {
            return Outcome::Dropped(Drop::Lost);
        }
        let departure_ns = serialised_ns.saturating_add(self.conditions.delay_ns);
        if departure_ns <= self.now_ns && self.held.is_empty() {
            return Outcome::Departs;
        }
        if self.held_bytes.saturating_add(bytes) > self.conditions.in_flight_limit_bytes {
            return Outcome::Dropped(Drop::Overrun);
        }
        self.held_bytes += bytes;
        self.held.push_back((departure_ns, bytes, keep()));
        Outcome::Held(departure_ns)
    }

    /// The next packet that is due, with its time of departure.
    pub fn take_due(&mut self, now_ns: u64) -> Option<(u64, T)> {
        self.advance(now_ns);
        self.held
            .front()
            .filter(|(departure_ns, ..)| *departure_ns <= self.now_ns)?;
        self.held.pop_front().map(|(departure_ns, bytes, packet)| {
            self.held_bytes -= bytes;
            (departure_ns, packet)
        })
    }

    /// When the next packet is due; None if none is held.
    pub fn next_departure_ns(&self) -> Option<u64> {
        self.held.front().map(|(departure_ns, ..)| *departure_ns)
    }

    /// Packets that are held.
    pub fn in_flight(&self) -> usize {
        self.held.len()
    }

    fn advance(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
        while let Some((done_ns, bytes)) = self.backlog.front().copied() {
            if done_ns > self.now_ns {
                break;
            }
            self.backlog.pop_front();
            self.backlog_bytes -= bytes;
        }
    }

    /// When the link will have sent the packet; None if the queue has no room for it.
    fn serialise(&mut self, bytes: u64) -> Option<u64> {
        let Some(rate_bps) = self.conditions.rate_bps else {
            return Some(self.now_ns);
        };
        let full = match self.conditions.queue {
            QueueLimit::Packets(limit) => self.backlog.len() as u64 >= limit,
            QueueLimit::Bytes(limit) => self.backlog_bytes.saturating_add(bytes) > limit,
        };
        // An idle link takes any packet: the limit is on waiting, not on size.
        if full && !self.backlog.is_empty() {
            return None;
        }
        let on_link = bytes.saturating_add(u64::from(self.conditions.overhead_bytes));
        let done_ns = self.link.send(self.now_ns, on_link, rate_bps);
        self.backlog.push_back((done_ns, bytes));
        self.backlog_bytes += bytes;
        Some(done_ns)
    }
}

/// A link that sends one packet after the other, exact to a fraction of a nanosecond so that
/// rounding never adds up.
#[derive(Debug, Default)]
struct Serialiser {
    free_ns: u64,
    /// Beyond `free_ns`, in units of 1 / rate nanoseconds.
    fraction: u64,
}

impl Serialiser {
    /// When a packet that is ready now will have been sent, rounded up.
    fn send(&mut self, now_ns: u64, bytes: u64, rate_bps: NonZeroU64) -> u64 {
        if now_ns > self.free_ns {
            (self.free_ns, self.fraction) = (now_ns, 0);
        }
        let rate = u128::from(rate_bps.get());
        let work = u128::from(bytes) * 8 * u128::from(NS_PER_S) + u128::from(self.fraction);
        let whole_ns = u64::try_from(work / rate).unwrap_or(u64::MAX);
        self.free_ns = self.free_ns.saturating_add(whole_ns);
        // less than the rate, which is a u64
        self.fraction = (work % rate) as u64;
        self.free_ns.saturating_add(u64::from(self.fraction > 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A packet of a test: the gap before it, and its size.
    type Offered = (u64, u64);

    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Departure {
        number: u64,
        arrival_ns: u64,
        departure_ns: u64,
        bytes: u64,
    }

    #[derive(Debug, Default)]
    struct Passage {
        departures: Vec<Departure>,
        lost: Vec<u64>,
        queue_full: Vec<u64>,
        overrun: Vec<u64>,
        greatest_backlog: (u64, u64),
    }

    /// Offer all packets, polling whenever one is due as the cable does.
    fn pass(conditions: Conditions, seed: u64, offered: &[Offered]) -> Passage {
        let mut schedule = Schedule::new(conditions, Chance::new(seed, 0));
        let mut passage = Passage::default();
        let mut now_ns = 0;
        for (number, (gap_ns, bytes)) in offered.iter().enumerate() {
            now_ns += gap_ns;
            while let Some(due_ns) = schedule.next_departure_ns().filter(|due| *due <= now_ns) {
                let (departure_ns, mut packet): (u64, Departure) =
                    schedule.take_due(due_ns).expect("it is due");
                packet.departure_ns = departure_ns;
                passage.departures.push(packet);
            }
            let packet = Departure {
                number: number as u64,
                arrival_ns: now_ns,
                departure_ns: now_ns,
                bytes: *bytes,
            };
            match schedule.offer(now_ns, *bytes, || packet) {
                Outcome::Departs => passage.departures.push(packet),
                Outcome::Held(_) => {}
                Outcome::Dropped(Drop::Lost) => passage.lost.push(packet.number),
                Outcome::Dropped(Drop::QueueFull) => passage.queue_full.push(packet.number),
                Outcome::Dropped(Drop::Overrun) => passage.overrun.push(packet.number),
            }
            passage.greatest_backlog.0 = passage
                .greatest_backlog
                .0
                .max(schedule.backlog.len() as u64);
            passage.greatest_backlog.1 = passage.greatest_backlog.1.max(schedule.backlog_bytes);
        }
        while let Some((departure_ns, mut packet)) = schedule.take_due(u64::MAX) {
            packet.departure_ns = departure_ns;
            passage.departures.push(packet);
        }
        assert_eq!((schedule.in_flight(), schedule.held_bytes), (0, 0));
        passage
    }

    fn traffic() -> impl Strategy<Value = Vec<Offered>> {
        let gap = prop_oneof![Just(0), 0..20_000u64, 0..20_000_000u64];
        let bytes = prop_oneof![Just(64u64), Just(1514), 1..9000u64];
        prop::collection::vec((gap, bytes), 1..120)
    }

    fn queue() -> impl Strategy<Value = QueueLimit> {
        prop_oneof![
            (1..50u64).prop_map(QueueLimit::Packets),
            (1..50_000u64).prop_map(QueueLimit::Bytes),
        ]
    }

    fn conditions() -> impl Strategy<Value = Conditions> {
        (
            prop::option::of(1_000u64..20_000_000_000),
            0..30u32,
            queue(),
            prop_oneof![Just(0u64), 0..400_000_000u64],
            prop_oneof![Just(0.0), Just(1.0), 0.0..1.0f64],
            prop_oneof![Just(u64::MAX), 1..100_000u64],
        )
            .prop_map(
                |(rate, overhead_bytes, queue, delay_ns, loss, memory)| Conditions {
                    rate_bps: rate.and_then(NonZeroU64::new),
                    overhead_bytes,
                    queue,
                    delay_ns,
                    loss: Probability::new(loss).expect("a probability"),
                    in_flight_limit_bytes: memory,
                },
            )
    }

    proptest! {
        #[test]
        fn every_packet_departs_or_is_dropped_once(
            conditions in conditions(), seed: u64, offered in traffic(),
        ) {
            let passage = pass(conditions, seed, &offered);
            let mut numbers: Vec<u64> = passage.departures.iter().map(|d| d.number).collect();
            numbers.extend(passage.lost.iter().chain(&passage.queue_full).chain(&passage.overrun));
            numbers.sort_unstable();
            prop_assert_eq!(numbers, (0..offered.len() as u64).collect::<Vec<_>>());
        }

        #[test]
        fn order_is_kept(conditions in conditions(), seed: u64, offered in traffic()) {
            let departures = pass(conditions, seed, &offered).departures;
            prop_assert!(departures.windows(2).all(|pair| pair[0].number < pair[1].number
                && pair[0].departure_ns <= pair[1].departure_ns));
        }

        #[test]
        fn delay_is_never_below_what_was_asked(
            conditions in conditions(), seed: u64, offered in traffic(),
        ) {
            for packet in pass(conditions, seed, &offered).departures {
                let delay_ns = packet.departure_ns - packet.arrival_ns;
                let serialisation_ns = conditions.rate_bps.map_or(0, |rate| {
                    let bits = (packet.bytes + u64::from(conditions.overhead_bytes)) * 8;
                    u128::from(bits) * u128::from(NS_PER_S) / u128::from(rate.get())
                });
                prop_assert!(u128::from(delay_ns) >= u128::from(conditions.delay_ns) + serialisation_ns);
            }
        }

        #[test]
        fn without_a_rate_delay_is_exact(
            mut conditions in conditions(), seed: u64, offered in traffic(),
        ) {
            conditions.rate_bps = None;
            let passage = pass(conditions, seed, &offered);
            prop_assert!(passage.queue_full.is_empty());
            for packet in passage.departures {
                prop_assert_eq!(packet.departure_ns - packet.arrival_ns, conditions.delay_ns);
            }
        }

        #[test]
        fn the_rate_is_never_exceeded_in_any_window(
            mut conditions in conditions(), rate in 1_000u64..20_000_000_000, seed: u64,
            offered in traffic(),
        ) {
            conditions.rate_bps = NonZeroU64::new(rate);
            let departures = pass(conditions, seed, &offered).departures;
            for (first, opening) in departures.iter().enumerate() {
                // what departs at the opening is the one packet that may come on top
                let mut bits = 0u128;
                for packet in &departures[first + 1..] {
                    bits += u128::from(packet.bytes + u64::from(conditions.overhead_bytes)) * 8;
                    let window_ns = u128::from(packet.departure_ns - opening.departure_ns);
                    // one nanosecond: departures are rounded up to whole ones
                    prop_assert!(
                        bits * u128::from(NS_PER_S) <= u128::from(rate) * (window_ns + 1)
                    );
                }
            }
        }

        #[test]
        fn a_busy_link_wastes_no_time(
            rate in 1_000u64..20_000_000_000, bytes in prop::collection::vec(1..9000u64, 1..300),
        ) {
            let conditions = Conditions {
                rate_bps: NonZeroU64::new(rate),
                queue: QueueLimit::Bytes(u64::MAX),
                ..Conditions::default()
            };
            let offered: Vec<Offered> = bytes.iter().map(|bytes| (0, *bytes)).collect();
            let departures = pass(conditions, 0, &offered).departures;
            let mut bits = 0u128;
            for packet in departures {
                bits += u128::from(packet.bytes) * 8;
                let exact_ns = (bits * u128::from(NS_PER_S)).div_ceil(u128::from(rate));
                prop_assert_eq!(u128::from(packet.departure_ns), exact_ns);
            }
        }

        #[test]
        fn the_queue_never_holds_more_than_its_limit(
            mut conditions in conditions(), rate in 1_000u64..20_000_000_000, seed: u64,
            offered in traffic(),
        ) {
            conditions.rate_bps = NonZeroU64::new(rate);
            let passage = pass(conditions, seed, &offered);
            let largest = offered.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
            match conditions.queue {
                QueueLimit::Packets(limit) => prop_assert!(passage.greatest_backlog.0 <= limit),
                // a packet longer than the limit still finds an idle link
                QueueLimit::Bytes(limit) =>
                    prop_assert!(passage.greatest_backlog.1 <= limit.max(largest)),
            }
        }

        #[test]
        fn loss_depends_on_seed_and_number_alone(
            conditions in conditions(), other in conditions(), seed: u64,
            offered in traffic(), others in traffic(),
        ) {
            let other = Conditions { loss: conditions.loss, ..other };
            let here = pass(conditions, seed, &offered);
            let there = pass(other, seed, &others);
            let common = offered.len().min(others.len()) as u64;
            // a packet that the queue refused was never drawn for
            let drawn = |number: &&u64| **number < common
                && !here.queue_full.contains(*number) && !there.queue_full.contains(*number);
            prop_assert_eq!(
                here.lost.iter().filter(drawn).collect::<Vec<_>>(),
                there.lost.iter().filter(drawn).collect::<Vec<_>>()
            );
        }

        #[test]
        fn a_clock_that_goes_back_breaks_nothing(
            conditions in conditions(), times in prop::collection::vec(any::<u64>(), 1..100),
        ) {
            let mut schedule = Schedule::new(conditions, Chance::new(0, 0));
            let (mut held, mut taken) = (0, 0);
            for now_ns in times {
                held += usize::from(matches!(schedule.offer(now_ns, 1514, || ()), Outcome::Held(_)));
                taken += usize::from(schedule.take_due(now_ns).is_some());
            }
            prop_assert_eq!(held, taken + schedule.in_flight());
        }
    }

    #[test]
    fn tail_drop_refuses_the_last_not_the_first() {
        let conditions = Conditions {
            rate_bps: NonZeroU64::new(8_000),
            queue: QueueLimit::Packets(2),
            ..Conditions::default()
        };
        let passage = pass(conditions, 0, &[(0, 100); 5]);
        assert_eq!(passage.queue_full, [2, 3, 4]);
        let times: Vec<u64> = passage.departures.iter().map(|d| d.departure_ns).collect();
        assert_eq!(
            times,
            [NS_PER_S / 10, NS_PER_S / 5],
            "100 bytes at 1000 bytes a second"
        );
    }

    #[test]
    fn rounding_does_not_add_up() {
        // 1514 bytes at 1 Gbit/s are 12112 ns; at 7 bit/ns they are 1730.28...
        let conditions = Conditions {
            rate_bps: NonZeroU64::new(7_000_000_000),
            queue: QueueLimit::Bytes(u64::MAX),
            ..Conditions::default()
        };
        let last = pass(conditions, 0, &[(0, 1514); 7_000]).departures[6_999];
        assert_eq!(last.departure_ns, 12_112_000);
    }

    #[test]
    fn overhead_takes_time_on_the_link() {
        let conditions = Conditions {
            rate_bps: NonZeroU64::new(NS_PER_S * 8),
            overhead_bytes: 24,
            ..Conditions::default()
        };
        let passage = pass(conditions, 0, &[(0, 60)]);
        assert_eq!(passage.departures[0].departure_ns, 84);
    }
}
