//! One thread's members that send UDP: paced, or as fast as their sockets take packets.
//!
//! A member whose tunnel is full never holds up the others: no call waits for room.

use super::super::Waiting;
use crate::protocol::failure::Failure;
use crate::tasks::context::Context;
use crate::tasks::udp::source::flow::Flow;
use crate::timing::clock;
use crate::timing::on_off::OnOff;
use nix::sys::epoll::EpollFlags;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Packets that were due before the end may still go out for so long.
const GRACE_NS: u64 = 100_000_000;
/// How many packets are taken from the schedules at once.
const AT_ONCE: usize = 4096;
/// When a member whose socket had no room is tried again.
const AGAIN_NS: u64 = 500_000;

pub struct Talker {
    pub number: usize,
    pub flow: Flow,
    /// None: as fast as the socket takes packets.
    pub times: Option<OnOff>,
    /// Due times of packets that were not sent yet.
    pub due: Vec<u64>,
    pub scheduled: u64,
}

pub fn run(talkers: &mut [Talker], end_ns: u64, context: &Context) -> Result<(), Failure> {
    if talkers.iter().all(|talker| talker.times.is_none()) {
        flood(talkers, end_ns, context)
    } else {
        follow(talkers, end_ns, context)
    }
}

fn flood(talkers: &mut [Talker], end_ns: u64, context: &Context) -> Result<(), Failure> {
    let mut waiting = Waiting::new()?;
    for (key, talker) in talkers.iter().enumerate() {
        waiting.add(talker.flow.socket(), EpollFlags::EPOLLOUT, key)?;
    }
    loop {
        let left_ns = end_ns.saturating_sub(clock::monotonic_ns());
        for key in waiting.ready(left_ns) {
            let now_ns = clock::monotonic_ns();
            if now_ns >= end_ns {
                return Ok(());
            }
            let flow = &mut talkers[key].flow;
            flow.send(flow.capacity(), now_ns)?;
        }
        if clock::monotonic_ns() >= end_ns || context.stop.requested() {
            return Ok(());
        }
    }
}

fn follow(talkers: &mut [Talker], end_ns: u64, context: &Context) -> Result<(), Failure> {
    let mut next: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    for (key, talker) in talkers.iter().enumerate() {
        if let Some(times) = &talker.times {
            next.push(Reverse((times.due_ns(), key)));
        }
    }
    // Members with packets that are due, in the order in which they became so.
    let mut late: Vec<usize> = Vec::new();
    loop {
        let now_ns = clock::monotonic_ns();
        let mut taken = 0;
        while let Some(&Reverse((due_ns, key))) = next.peek() {
            if due_ns >= end_ns {
                next.pop();
                continue;
            }
            if due_ns > now_ns || taken == AT_ONCE {
                break;
            }
            let talker = &mut talkers[key];
            if talker.due.is_empty() {
                late.push(key);
            }
            talker.due.push(due_ns);
            talker.scheduled += 1;
            taken += 1;
            next.pop();
            if let Some(times) = &mut talker.times {
                times.step();
                next.push(Reverse((times.due_ns(), key)));
            }
        }
        let mut stuck = Vec::new();
        for key in late.drain(..) {
            if !send_due(&mut talkers[key], now_ns)? {
                stuck.push(key);
            }
        }
        late = stuck;
        let now_ns = clock::monotonic_ns();
        if (next.is_empty() && late.is_empty()) || now_ns >= end_ns + GRACE_NS {
            break;
        }
        let mut until_ns = next
            .peek()
            .map_or(end_ns + GRACE_NS, |Reverse((due_ns, _))| *due_ns);
        if !late.is_empty() {
            until_ns = until_ns.min(now_ns + AGAIN_NS);
        }
        if !context.stop.wait_until(until_ns) {
            return Ok(());
        }
    }
    // Rates are over the whole time, and not until the last packet.
    context.stop.wait_until(end_ns);
    // What a slow generator never came to is in its schedule all the same.
    while let Some(Reverse((due_ns, key))) = next.pop() {
        if due_ns < end_ns {
            let talker = &mut talkers[key];
            talker.scheduled += 1;
            if let Some(times) = &mut talker.times {
                times.step();
                next.push(Reverse((times.due_ns(), key)));
            }
        }
    }
    Ok(())
}

/// Sends a packet for each due time, as far as the socket has room; returns whether all are sent.
fn send_due(talker: &mut Talker, now_ns: u64) -> Result<bool, Failure> {
    let mut from = 0;
    while from < talker.due.len() {
        let used = talker.flow.send(talker.due.len() - from, now_ns)?;
        if used == 0 {
            break;
        }
        for due_ns in &talker.due[from..from + used] {
            talker.flow.late.record(now_ns.saturating_sub(*due_ns));
        }
        from += used;
    }
    talker.due.drain(..from);
    Ok(talker.due.is_empty())
}
