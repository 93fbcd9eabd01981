//! The queue before the link, served at a rate or by a trace, with CoDel.

use super::codel::Head;
use super::conditions::{Capacity, QueueLimit};
use super::trace::OPPORTUNITY_BYTES;
use super::{Drop, Schedule, Waiting, delay_floor_ns};

impl<T: Copy> Schedule<T> {
    /// An idle link takes any packet: the limit is on waiting, not on size.
    pub(super) fn is_full(&self, bytes: u32) -> bool {
        let serialising = self.serialiser.free_ns() > self.now_ns;
        let packets = self.waiting() as u64 + u64::from(serialising);
        let on_link = if serialising {
            self.serialising_bytes
        } else {
            0
        };
        let waiting_bytes = self.queue_bytes + u64::from(on_link);
        packets > 0
            && match self.conditions.queue {
                QueueLimit::Packets(limit) => packets >= limit,
                QueueLimit::Bytes(limit) => waiting_bytes + u64::from(bytes) > limit,
            }
    }

    /// As in netem, a packet that is lost at once needs no place.
    pub(super) fn is_at_limit(&self, lost: bool) -> bool {
        let held = (self.waiting() + self.lanes.held(self.now_ns)) as u64;
        let at_once = lost && self.conditions.capacity == Capacity::Unlimited;
        !at_once
            && self
                .conditions
                .limit_packets
                .is_some_and(|limit| held >= limit)
    }

    /// When the link deals with the next packet that waits.
    pub(super) fn next_service_ns(&self) -> Option<u64> {
        match &self.conditions.capacity {
            Capacity::Trace(trace) if self.waiting() > 0 => Some(self.cursor.moment_ns(trace)),
            Capacity::Trace(_) => None,
            Capacity::Rate(_) | Capacity::Unlimited => self
                .queue
                .front()
                .map(|head| self.serialiser.free_ns().max(head.arrival_ns)),
        }
    }

    /// Let the link do all that it does until now.
    pub(super) fn advance(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
        while let Some(at_ns) = self.next_service_ns().filter(|at_ns| *at_ns <= self.now_ns) {
            match self.conditions.capacity {
                Capacity::Trace(_) => self.use_opportunity(at_ns),
                Capacity::Rate(_) | Capacity::Unlimited => self.serialise(at_ns),
            }
        }
        if self.queue.is_empty() {
            self.delay_floor_ns = delay_floor_ns(&self.conditions);
        }
    }

    pub(super) fn serialise(&mut self, at_ns: u64) {
        let Some(waiting) = self.dequeue(at_ns) else {
            return;
        };
        match self.conditions.capacity {
            Capacity::Rate(rate_bps) => {
                let on_link = u64::from(waiting.bytes) + u64::from(self.conditions.overhead_bytes);
                self.serialising_bytes = waiting.bytes;
                let start_ns = self.serialiser.free_ns().max(at_ns);
                let done_ns = self.serialiser.send(at_ns, on_link, rate_bps);
                self.leave(done_ns, done_ns - start_ns, waiting);
            }
            // what waited when the limit was lifted
            Capacity::Unlimited | Capacity::Trace(_) => self.leave(self.now_ns, 0, waiting),
        }
    }

    /// Deliver as many of the packets that wait as one opportunity of the trace allows.
    pub(super) fn use_opportunity(&mut self, at_ns: u64) {
        let mut budget = OPPORTUNITY_BYTES;
        while budget > 0 {
            let next = self.partly.take().or_else(|| {
                let overhead = u64::from(self.conditions.overhead_bytes);
                self.dequeue(at_ns)
                    .map(|waiting| (u64::from(waiting.bytes) + overhead, waiting))
                    .map(|(bytes, waiting)| (waiting, bytes))
            });
            let Some((waiting, left)) = next else { break };
            if left > budget {
                self.partly = Some((waiting, left - budget));
                break;
            }
            budget -= left;
            self.leave(at_ns, 0, waiting);
        }
        if let Capacity::Trace(trace) = &self.conditions.capacity {
            self.cursor.step(trace);
        }
    }

    /// The packet that is sent next; CoDel may drop some before it.
    pub(super) fn dequeue(&mut self, at_ns: u64) -> Option<Waiting<T>> {
        let Self {
            queue, queue_bytes, ..
        } = self;
        let mut pop = || {
            let waiting = queue.pop_front()?;
            *queue_bytes -= u64::from(waiting.bytes);
            let head = Head {
                sojourn_ns: at_ns.saturating_sub(waiting.arrival_ns),
                backlog_bytes: *queue_bytes,
            };
            Some((head, waiting))
        };
        match &self.conditions.codel {
            None => pop().map(|(_, waiting)| waiting),
            Some(codel) => {
                let dropped = &mut self.dropped;
                self.controller.dequeue(codel, at_ns, pop, |waiting| {
                    dropped.push_back((Drop::Codel, waiting.packet));
                })
            }
        }
    }
}
