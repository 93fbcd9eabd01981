//! What is promised about schedules, whatever the conditions and the traffic.

mod conservation;
mod delay;
mod harm;
mod queueing;
mod rate;
mod strategies;

use super::{Chance, Conditions, Drop, Facts, Fate, Outcome, Schedule};

const NS_PER_S: u64 = 1_000_000_000;

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
    /// Numbers of packets by why they were dropped.
    dropped: Vec<(Drop, u64)>,
    copies: u64,
    greatest_backlog: (u64, u64),
    /// The greatest time that a packet was taken after it was due.
    latest_ns: u64,
}

impl Passage {
    fn because(&self, reason: Drop) -> Vec<u64> {
        let mut numbers: Vec<u64> = self
            .dropped
            .iter()
            .filter(|(why, _)| *why == reason)
            .map(|(_, number)| *number)
            .collect();
        numbers.sort_unstable();
        numbers
    }

    fn settle(&mut self, outcome: Outcome, packet: Departure) {
        match outcome {
            Outcome::Departs(_) => self.departures.push(packet),
            Outcome::Held => {}
            Outcome::Dropped(reason) => self.dropped.push((reason, packet.number)),
        }
    }

    fn take(&mut self, schedule: &mut Schedule<Departure>, now_ns: u64) {
        while let Some((fate, mut packet)) = schedule.take(now_ns) {
            match fate {
                Fate::Departs { due_ns, .. } => {
                    self.latest_ns = self.latest_ns.max(now_ns - due_ns);
                    packet.departure_ns = due_ns;
                    self.departures.push(packet);
                }
                Fate::Dropped(reason) => self.dropped.push((reason, packet.number)),
            }
            if schedule.is_paced() {
                schedule.had_left_by(now_ns);
            }
        }
    }
}

fn facts(bytes: u64) -> Facts {
    Facts {
        bytes: bytes as u32,
        packet_bytes: bytes as u32,
        udp: bytes.is_multiple_of(2),
        fragment: bytes.is_multiple_of(3),
    }
}

/// The times at which the schedule is called.
#[derive(Clone, Copy, PartialEq)]
enum Polls {
    /// At each event, as the cable does.
    OnTime,
    /// Only when a packet comes.
    Late,
}

fn pass(conditions: Conditions, seed: u64, offered: &[Offered]) -> Passage {
    pass_polling(conditions, seed, offered, Polls::OnTime)
}

fn pass_polling(conditions: Conditions, seed: u64, offered: &[Offered], polls: Polls) -> Passage {
    let mut schedule = Schedule::new(conditions, Chance::new(seed, 0));
    let mut passage = Passage::default();
    let mut now_ns = 0;
    for (number, (gap_ns, bytes)) in offered.iter().enumerate() {
        now_ns += gap_ns;
        while polls == Polls::OnTime
            && let Some(due_ns) = schedule.next_event_ns().filter(|due| *due <= now_ns)
        {
            let before = (schedule.in_flight(), schedule.next_event_ns());
            passage.take(&mut schedule, due_ns);
            assert_ne!(
                before,
                (schedule.in_flight(), schedule.next_event_ns()),
                "it goes on"
            );
        }
        passage.take(&mut schedule, now_ns);
        let packet = Departure {
            number: number as u64,
            arrival_ns: now_ns,
            departure_ns: now_ns,
            bytes: *bytes,
        };
        let outcome = schedule.offer(now_ns, facts(*bytes), packet);
        passage.settle(outcome.first, packet);
        if let Some(copy) = outcome.copy {
            passage.copies += 1;
            passage.settle(copy, packet);
        }
        let busy = schedule.serialiser.free_ns() > now_ns;
        let serialising = if busy {
            u64::from(schedule.serialising_bytes)
        } else {
            0
        };
        let backlog = (
            schedule.waiting() as u64 + u64::from(busy),
            schedule.queue_bytes + serialising,
        );
        passage.greatest_backlog.0 = passage.greatest_backlog.0.max(backlog.0);
        passage.greatest_backlog.1 = passage.greatest_backlog.1.max(backlog.1);
    }
    while let Some(due_ns) = schedule.next_event_ns() {
        passage.take(&mut schedule, due_ns);
    }
    assert_eq!(
        (
            schedule.in_flight(),
            schedule.lanes.bytes(),
            schedule.queue_bytes
        ),
        (0, 0, 0)
    );
    passage
}
