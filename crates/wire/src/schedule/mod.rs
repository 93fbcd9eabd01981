//! The impairments of packets in one direction of a link: pure; the caller passes the time.
//!
//! ```text
//!   offered ──> filter ──> copied? ──> queue ──> link ──> lost? ──> delay, jitter ──> departs
//!                 └─ dropped             └─ full, or CoDel: dropped    └─ dropped
//! ```
//!
//! Loss comes behind the rate, as on a real link: a packet that is lost has taken its time on it.
//! Whether a packet is lost, copied, corrupted, and how much jitter it gets, depends on the seed,
//! the direction and its number alone; only the queue looks at what else is on the link.
//! Times are nanoseconds of any clock that does not go backwards. What happened between two calls is
//! worked out as if each event had been dealt with on time, so that being called late changes
//! nothing but when packets are handed out.

pub mod chance;
pub mod codel;
pub mod conditions;
mod dice;
pub mod gate;
pub mod jitter;
mod lanes;
pub mod loss;
mod queue;
mod serialiser;
pub mod trace;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use crate::schedule::chance::Chance;
use codel::Controller;
pub use conditions::{Blackout, Capacity, Conditions, Filter, QueueLimit, Unit};
use dice::{Dice, Verdict};
use gate::Gate;
use lanes::Lanes;
use serialiser::Serialiser;
use trace::Cursor;

/// Why a packet does not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drop {
    /// By the requested loss.
    Lost,
    /// The queue before the link was full, or the emulator's.
    QueueFull,
    /// By the queue's management.
    Codel,
    Blackout,
    Filtered,
    /// Memory was full: not a condition but a limit of this program.
    Overrun,
}

/// The outcome of an offered packet so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It departs at once; nothing was kept. With a draw for the bit that is to be flipped, if any.
    Departs(Option<u64>),
    /// It was kept: `take` will hand it out, once.
    Held,
    Dropped(Drop),
}

/// The outcome of a packet and of its copy, if it was duplicated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offered {
    pub first: Outcome,
    pub copy: Option<Outcome>,
}

/// The properties of a packet that the conditions use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Of the frame, Ethernet header included.
    pub bytes: u32,
    /// Of the IP packet (or of whatever the frame carries).
    pub packet_bytes: u32,
    pub udp: bool,
    /// Whether it is a fragment of an IP packet.
    pub fragment: bool,
}

/// How a packet that was held ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// At `due_ns`, `asked_ns` after it came, but `late_ns` passed until the call; then the
    /// rate may have kept it back, for others that had been late. With a draw for the bit that is to be
    /// flipped, if any.
    Departs {
        due_ns: u64,
        asked_ns: u64,
        late_ns: u64,
        corrupt: Option<u64>,
    },
    Dropped(Drop),
}

/// A packet in front of the link.
#[derive(Debug)]
struct Waiting<T> {
    arrival_ns: u64,
    bytes: u32,
    verdict: Verdict,
    packet: T,
}

/// One direction of a link. `T` represents a packet.
#[derive(Debug)]
pub struct Schedule<T> {
    conditions: Conditions,
    plain_cable: bool,
    dice: Dice,
    /// The number of the next packet that is offered, dropped ones included.
    number: u64,
    now_ns: u64,
    /// When the conditions took effect.
    since_ns: u64,
    queue: VecDeque<Waiting<T>>,
    queue_bytes: u64,
    controller: Controller,
    serialiser: Serialiser,
    /// Bytes that the serialiser is at, until it is free.
    serialising_bytes: u32,
    cursor: Cursor,
    /// A packet that opportunities of a trace have delivered in part, and the bytes left.
    partly: Option<(Waiting<T>, u64)>,
    /// What departs later may not depart before this, where order is kept.
    last_due_ns: u64,
    /// No packet in the queue has a delay below this.
    delay_floor_ns: u64,
    lanes: Lanes<T>,
    gate: Gate,
    /// Whether what was taken last leaves: what was dropped has used none of the rate.
    leaves: bool,
    dropped: VecDeque<(Drop, T)>,
    overtaken: u64,
}

impl<T: Copy> Schedule<T> {
    pub fn new(conditions: Conditions, chance: Chance) -> Self {
        Self {
            plain_cable: conditions.is_plain_cable(),
            dice: Dice::new(chance, &conditions),
            delay_floor_ns: delay_floor_ns(&conditions),
            conditions,
            number: 0,
            now_ns: 0,
            since_ns: 0,
            queue: VecDeque::new(),
            queue_bytes: 0,
            controller: Controller::default(),
            serialiser: Serialiser::default(),
            serialising_bytes: 0,
            cursor: Cursor::default(),
            partly: None,
            last_due_ns: 0,
            lanes: Lanes::new(),
            gate: Gate::default(),
            leaves: false,
            dropped: VecDeque::new(),
            overtaken: 0,
        }
    }

    /// New conditions from now on. Numbers go on; what was decided about packets stays decided, and
    /// what waits in the queue sees the new capacity.
    pub fn change(&mut self, now_ns: u64, conditions: Conditions) {
        self.advance(now_ns);
        self.dice.change(&self.conditions, &conditions, self.number);
        if self.conditions.codel != conditions.codel {
            self.controller = Controller::default();
        }
        if self.conditions.capacity != conditions.capacity {
            self.serialiser.change_rate();
            self.cursor = Cursor::new(self.now_ns);
            if let Some((packet, _)) = self.partly.take() {
                self.leave(self.now_ns, 0, packet);
            }
        }
        self.delay_floor_ns = self.delay_floor_ns.min(delay_floor_ns(&conditions));
        self.plain_cable = conditions.is_plain_cable();
        self.since_ns = self.now_ns;
        self.conditions = conditions;
        self.advance(now_ns);
    }

    pub fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// Offer a packet. A `now_ns` before that of an earlier call counts as the earlier one.
    pub fn offer(&mut self, now_ns: u64, facts: Facts, packet: T) -> Offered {
        self.advance(now_ns);
        let number = self.number;
        self.number += 1;
        if self.plain_cable && self.is_empty() {
            return Offered {
                first: Outcome::Departs(None),
                copy: None,
            };
        }
        let slot = (self.now_ns - self.since_ns)
            .checked_div(self.conditions.jitter_hold_ns)
            .unwrap_or(number);
        let verdict = self.dice.verdict(&self.conditions, number, slot);
        let first = self.enter(facts, verdict, packet);
        let copy = self.dice.duplicates(&self.conditions, number).then(|| {
            let verdict = self.dice.verdict_of_copy(&self.conditions, number, slot);
            self.enter(facts, verdict, packet)
        });
        Offered { first, copy }
    }

    /// The next packet that was held and is due, or was dropped.
    pub fn take(&mut self, now_ns: u64) -> Option<(Fate, T)> {
        self.advance(now_ns);
        self.leaves = false;
        if let Some((reason, packet)) = self.dropped.pop_front() {
            return Some((Fate::Dropped(reason), packet));
        }
        let link_ns = self.lanes.next()?.link_ns;
        let opens_ns = self.gate.opens_ns(link_ns);
        if opens_ns > self.now_ns {
            if self.is_behind(self.now_ns) {
                self.gate.found_closed(self.now_ns, opens_ns);
            }
            return None;
        }
        let entry = self.lanes.pop_due(self.now_ns)?;
        let came_ns = if link_ns > 0 {
            self.gate.came_for_ns(entry.due_ns, self.now_ns)
        } else {
            self.now_ns
        };
        self.gate.passed(self.now_ns, link_ns);
        self.leaves = true;
        let fate = Fate::Departs {
            due_ns: entry.due_ns,
            asked_ns: entry.due_ns.saturating_sub(entry.arrival_ns),
            late_ns: came_ns.saturating_sub(entry.due_ns),
            corrupt: entry.corrupt,
        };
        Some((fate, entry.packet))
    }

    /// What was taken last had left by then: a write takes its time.
    pub fn had_left_by(&mut self, now_ns: u64) {
        if self.leaves {
            self.gate.had_left_by(now_ns);
        }
    }

    /// When to call `take` next; None if nothing is held. It may be too early, but never too late.
    pub fn next_event_ns(&self) -> Option<u64> {
        if !self.dropped.is_empty() {
            return Some(self.now_ns);
        }
        let link = self
            .next_service_ns()
            .map(|at_ns| at_ns.saturating_add(self.delay_floor_ns));
        let departure = self
            .lanes
            .next()
            .map(|entry| entry.due_ns.max(self.gate.opens_ns(entry.link_ns)));
        link.into_iter().chain(departure).min()
    }

    /// Packets that are held.
    pub fn in_flight(&self) -> usize {
        self.waiting() + self.lanes.len() + self.dropped.len()
    }

    /// Packets that skipped their delay.
    pub fn overtaken(&self) -> u64 {
        self.overtaken
    }

    fn is_empty(&self) -> bool {
        self.in_flight() == 0
    }

    /// Whether a packet is kept back, by the rate, that was due before.
    pub fn is_behind(&self, now_ns: u64) -> bool {
        self.lanes
            .next()
            .is_some_and(|entry| entry.due_ns <= now_ns)
    }

    /// Packets in front of the link.
    pub fn waiting(&self) -> usize {
        self.queue.len() + usize::from(self.partly.is_some())
    }

    fn enter(&mut self, facts: Facts, verdict: Verdict, packet: T) -> Outcome {
        let conditions = &self.conditions;
        let filter = conditions.filter;
        let too_long = filter
            .size_and_above
            .is_some_and(|size| facts.packet_bytes >= size);
        if too_long || (filter.udp && facts.udp) || (filter.fragments && facts.fragment) {
            return Outcome::Dropped(Drop::Filtered);
        }
        if conditions.blackout.is_some_and(|blackout| {
            let since_ns = self.now_ns - self.since_ns;
            since_ns >= blackout.after_ns && since_ns - blackout.after_ns < blackout.for_ns
        }) {
            return Outcome::Dropped(Drop::Blackout);
        }
        let held_bytes = self.queue_bytes + self.lanes.bytes();
        if held_bytes.saturating_add(u64::from(facts.bytes)) > conditions.in_flight_limit_bytes {
            return Outcome::Dropped(Drop::Overrun);
        }
        let waiting = Waiting {
            arrival_ns: self.now_ns,
            bytes: facts.bytes,
            verdict,
            packet,
        };
        if self.is_at_limit(waiting.verdict.lost) {
            return Outcome::Dropped(Drop::QueueFull);
        }
        if self.conditions.capacity == Capacity::Unlimited {
            return self.pass(waiting);
        }
        if self.is_full(facts.bytes) {
            return Outcome::Dropped(Drop::QueueFull);
        }
        if let Capacity::Trace(trace) = &self.conditions.capacity
            && self.waiting() == 0
        {
            self.cursor.skip_to(trace, self.now_ns);
        }
        self.queue_bytes += u64::from(facts.bytes);
        self.queue.push_back(waiting);
        self.advance(self.now_ns);
        Outcome::Held
    }

    /// A link without a limit has no queue.
    fn pass(&mut self, waiting: Waiting<T>) -> Outcome {
        if waiting.verdict.lost {
            return Outcome::Dropped(Drop::Lost);
        }
        let due_ns = self.due_ns(self.now_ns, &waiting.verdict);
        if due_ns <= self.now_ns && self.lanes.next().is_none_or(|next| next.due_ns > due_ns) {
            return Outcome::Departs(waiting.verdict.corrupt);
        }
        let corrupt = waiting.verdict.corrupt;
        let Waiting {
            arrival_ns, bytes, ..
        } = waiting;
        self.lanes
            .push(arrival_ns, due_ns, 0, bytes, corrupt, waiting.packet);
        Outcome::Held
    }

    /// The packet is at the end of the link, which took `link_ns` for it.
    fn leave(&mut self, done_ns: u64, link_ns: u64, waiting: Waiting<T>) {
        if waiting.verdict.lost {
            self.dropped.push_back((Drop::Lost, waiting.packet));
            return;
        }
        let due_ns = self.due_ns(done_ns, &waiting.verdict);
        let corrupt = waiting.verdict.corrupt;
        // behind jitter packets come as they like, and no rate holds
        let asked_ns = link_ns - link_ns / gate::SLACK;
        let link_ns = if self.conditions.is_delay_fixed() {
            asked_ns
        } else {
            0
        };
        let Waiting {
            arrival_ns, bytes, ..
        } = waiting;
        self.lanes
            .push(arrival_ns, due_ns, link_ns, bytes, corrupt, waiting.packet);
    }

    /// Whether the moment at which each packet is taken matters to its rate.
    pub fn is_paced(&self) -> bool {
        matches!(self.conditions.capacity, Capacity::Rate(_))
    }

    fn due_ns(&mut self, done_ns: u64, verdict: &Verdict) -> u64 {
        if verdict.overtakes {
            self.overtaken += 1;
            return done_ns;
        }
        let mut due_ns = done_ns.saturating_add(verdict.delay_ns);
        if self.conditions.keep_order {
            due_ns = due_ns.max(self.last_due_ns);
            self.last_due_ns = due_ns;
        }
        due_ns
    }
}

/// The least delay that these conditions give a packet.
fn delay_floor_ns(conditions: &Conditions) -> u64 {
    if conditions.is_delay_fixed() {
        conditions.delay_ns
    } else {
        0
    }
}
