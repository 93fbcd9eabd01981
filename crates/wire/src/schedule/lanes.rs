//! Packets on their way, by time of departure.
//!
//! Most depart in the order in which they came, so they stand in a plain queue; only those that
//! overtake go through a heap.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

/// A packet on its way.
#[derive(Debug, Clone, Copy)]
pub struct OnItsWay<T> {
    pub arrival_ns: u64,
    pub due_ns: u64,
    /// Keeps apart packets that are due at the same time, in the order in which they came.
    order: u64,
    /// The time that it took on a link with a rate, else 0.
    pub link_ns: u64,
    pub bytes: u32,
    /// A draw for the bit to be flipped.
    pub corrupt: Option<u64>,
    pub packet: T,
}

impl<T> OnItsWay<T> {
    fn key(&self) -> (u64, u64) {
        (self.due_ns, self.order)
    }
}

impl<T> PartialEq for OnItsWay<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}
impl<T> Eq for OnItsWay<T> {}
impl<T> PartialOrd for OnItsWay<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for OnItsWay<T> {
    /// Reversed: the heap's greatest is the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

#[derive(Debug)]
pub struct Lanes<T> {
    in_order: VecDeque<OnItsWay<T>>,
    overtaking: BinaryHeap<OnItsWay<T>>,
    order: u64,
    bytes: u64,
}

impl<T> Lanes<T> {
    pub fn new() -> Self {
        Self {
            in_order: VecDeque::new(),
            overtaking: BinaryHeap::new(),
            order: 0,
            bytes: 0,
        }
    }

    /// It came at `arrival_ns`, took `link_ns` on a link with a rate, and is to leave at `due_ns`.
    pub fn push(
        &mut self,
        arrival_ns: u64,
        due_ns: u64,
        link_ns: u64,
        bytes: u32,
        corrupt: Option<u64>,
        packet: T,
    ) {
        let entry = OnItsWay {
            arrival_ns,
            due_ns,
            link_ns,
            order: self.order,
            bytes,
            corrupt,
            packet,
        };
        self.order += 1;
        self.bytes += u64::from(bytes);
        if self
            .in_order
            .back()
            .is_none_or(|last| last.due_ns <= due_ns)
        {
            self.in_order.push_back(entry);
        } else {
            self.overtaking.push(entry);
        }
    }

    pub fn pop_due(&mut self, now_ns: u64) -> Option<OnItsWay<T>> {
        if self.next()?.due_ns > now_ns {
            return None;
        }
        let entry = if self.overtakes() {
            self.overtaking.pop()
        } else {
            self.in_order.pop_front()
        }?;
        self.bytes -= u64::from(entry.bytes);
        Some(entry)
    }

    /// What is due first.
    pub fn next(&self) -> Option<&OnItsWay<T>> {
        if self.overtakes() {
            self.overtaking.peek()
        } else {
            self.in_order.front()
        }
    }

    fn overtakes(&self) -> bool {
        match (self.in_order.front(), self.overtaking.peek()) {
            (Some(front), Some(top)) => top.key() < front.key(),
            (front, _) => front.is_none(),
        }
    }

    pub fn len(&self) -> usize {
        self.in_order.len() + self.overtaking.len()
    }

    /// Those that leave after `now_ns`: whoever is to take the others may be late.
    pub fn held(&self, now_ns: u64) -> usize {
        let gone = self.in_order.partition_point(|one| one.due_ns <= now_ns);
        let overtaking = self.overtaking.iter().filter(|one| one.due_ns > now_ns);
        self.in_order.len() - gone + overtaking.count()
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn they_leave_by_time_and_then_by_arrival(dues in prop::collection::vec(0u64..20, 0..100)) {
            let mut lanes = Lanes::new();
            for (number, due_ns) in dues.iter().enumerate() {
                lanes.push(0, *due_ns, 0, 1, None, number);
            }
            let mut expected: Vec<(u64, usize)> =
                dues.iter().enumerate().map(|(number, due_ns)| (*due_ns, number)).collect();
            expected.sort_unstable();
            prop_assert_eq!(lanes.held(9), dues.iter().filter(|due_ns| **due_ns > 9).count());
            let mut left = Vec::new();
            for now_ns in 0..20 {
                while let Some(entry) = lanes.pop_due(now_ns) {
                    prop_assert!(entry.due_ns <= now_ns);
                    left.push((entry.due_ns, entry.packet));
                }
                prop_assert!(lanes.next().is_none_or(|entry| entry.due_ns > now_ns));
                prop_assert_eq!(lanes.held(now_ns), lanes.len());
            }
            prop_assert_eq!(left, expected);
            prop_assert_eq!((lanes.len(), lanes.bytes()), (0, 0));
        }
    }
}
