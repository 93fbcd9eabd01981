//! One thread of a source: its flows in turn, paced or as fast as the sockets take them.

use super::flow::Flow;
use crate::protocol::failure::Failure;
use crate::tasks::context::Context;
use crate::timing::clock;
use crate::timing::pace::Pace;

/// Packets that were due before the end may still go out for so long: a thread that woke up late
/// at the very end is no slow generator.
const GRACE_NS: u64 = 100_000_000;
/// How many packets are taken from the schedule at once.
const AT_ONCE: usize = 1024;

pub struct Lane {
    pub flows: Vec<Flow>,
    /// None: as fast as the sockets take them.
    pub pace: Option<Pace>,
    pub spin_ns: u64,
}

impl Lane {
    pub fn run(&mut self, end_ns: u64, context: &Context) -> Result<(), Failure> {
        clock::use_exact_timers();
        match self.pace.take() {
            None => self.flood(end_ns, context),
            Some(mut pace) => {
                let outcome = self.follow(&mut pace, end_ns, context);
                self.pace = Some(pace);
                outcome
            }
        }
    }

    fn flood(&mut self, end_ns: u64, context: &Context) -> Result<(), Failure> {
        loop {
            for flow in &mut self.flows {
                let now_ns = clock::monotonic_ns();
                if now_ns >= end_ns || context.stop.requested() {
                    return Ok(());
                }
                flow.send(flow.capacity(), now_ns)?;
            }
        }
    }

    fn follow(&mut self, pace: &mut Pace, end_ns: u64, context: &Context) -> Result<(), Failure> {
        let mut due = vec![Vec::with_capacity(AT_ONCE); self.flows.len()];
        let mut turn = 0;
        while pace.due_ns() < end_ns {
            let due_ns = pace.due_ns();
            if !context.stop.wait_until(due_ns.saturating_sub(self.spin_ns)) {
                return Ok(());
            }
            let mut now_ns = clock::monotonic_ns();
            while now_ns < due_ns {
                std::hint::spin_loop();
                now_ns = clock::monotonic_ns();
            }
            // What a slow generator has not sent by then is left out, and reported in the result.
            if now_ns >= end_ns + GRACE_NS {
                return Ok(());
            }
            let mut taken = 0;
            while taken < AT_ONCE && pace.due_ns() <= now_ns && pace.due_ns() < end_ns {
                due[turn].push(pace.due_ns());
                turn = (turn + 1) % due.len();
                taken += 1;
                pace.step();
            }
            for (flow, due) in self.flows.iter_mut().zip(&mut due) {
                send_due(flow, due, now_ns)?;
            }
        }
        // Rates are over the whole time, and not until the last packet.
        context.stop.wait_until(end_ns);
        Ok(())
    }
}

/// Sends a packet for each due time, and records how late they are.
fn send_due(flow: &mut Flow, due: &mut Vec<u64>, mut now_ns: u64) -> Result<(), Failure> {
    let mut rest = due.as_slice();
    while !rest.is_empty() {
        let used = flow.send(rest.len(), now_ns)?;
        for due_ns in &rest[..used] {
            flow.late.record(now_ns.saturating_sub(*due_ns));
        }
        rest = &rest[used..];
        if !rest.is_empty() {
            now_ns = clock::monotonic_ns();
        }
    }
    due.clear();
    Ok(())
}
