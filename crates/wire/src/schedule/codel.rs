//! Controlled Delay: drop from the head of a queue that has been too slow for too long (RFC 8289).

/// The parameters of RFC 8289, section 4.4: 5 ms and 100 ms are its defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Codel {
    pub target_ns: u64,
    pub interval_ns: u64,
}

impl Default for Codel {
    fn default() -> Self {
        Self {
            target_ns: 5_000_000,
            interval_ns: 100_000_000,
        }
    }
}

/// A backlog of one full frame is no standing queue.
const FULL_FRAME_BYTES: u64 = 1514;

/// What it remembers; names as in the RFC's pseudo-code.
#[derive(Debug, Default)]
pub struct Controller {
    first_above_ns: Option<u64>,
    drop_next_ns: u64,
    count: u64,
    last_count: u64,
    dropping: bool,
}

/// A packet at the head of the queue.
#[derive(Debug, Clone, Copy)]
pub struct Head {
    pub sojourn_ns: u64,
    /// Bytes that still wait behind it.
    pub backlog_bytes: u64,
}

impl Controller {
    /// Choose the packet to send now: `pop` takes the head off the queue, `drop` throws one away.
    pub fn dequeue<T>(
        &mut self,
        codel: &Codel,
        now_ns: u64,
        mut pop: impl FnMut() -> Option<(Head, T)>,
        mut drop: impl FnMut(T),
    ) -> Option<T> {
        let (mut packet, mut late) = self.take(codel, now_ns, pop())?;
        if self.dropping {
            self.dropping = late;
            while self.dropping && now_ns >= self.drop_next_ns {
                drop(packet);
                self.count += 1;
                let Some(next) = self.take(codel, now_ns, pop()) else {
                    self.dropping = false;
                    return None;
                };
                (packet, late) = next;
                self.dropping = late;
                if late {
                    self.drop_next_ns = self.later(codel, self.drop_next_ns);
                }
            }
        } else if late {
            drop(packet);
            let next = self.take(codel, now_ns, pop());
            self.dropping = true;
            // A queue that was bad a moment ago: go on where the control was.
            let delta = self.count - self.last_count;
            let recent = now_ns.saturating_sub(self.drop_next_ns) < 16 * codel.interval_ns;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next_ns = self.later(codel, now_ns);
            self.last_count = self.count;
            return next.map(|(packet, _)| packet);
        }
        Some(packet)
    }

    /// Whether the packet may be dropped: the delay was above the target for an interval.
    fn take<T>(
        &mut self,
        codel: &Codel,
        now_ns: u64,
        popped: Option<(Head, T)>,
    ) -> Option<(T, bool)> {
        let Some((head, packet)) = popped else {
            self.first_above_ns = None;
            return None;
        };
        if head.sojourn_ns < codel.target_ns || head.backlog_bytes <= FULL_FRAME_BYTES {
            self.first_above_ns = None;
            return Some((packet, false));
        }
        let first_above_ns = *self
            .first_above_ns
            .get_or_insert(now_ns.saturating_add(codel.interval_ns));
        Some((packet, now_ns >= first_above_ns))
    }

    /// The control law: the interval shrinks with the square root of the drops.
    fn later(&self, codel: &Codel, from_ns: u64) -> u64 {
        from_ns.saturating_add((codel.interval_ns as f64 / (self.count as f64).sqrt()) as u64)
    }
}
