//! `applications`: what programs on a client send all the time, whatever becomes of the network:
//! datagrams, connections, a stream, pings and name look-ups, each flow at a steady rate.
//!
//! No socket is bound to an address, so the kernel's routes decide over each packet. A packet that
//! the kernel refuses, or that gets no answer, is counted and the flow goes on.

mod attempt;
pub mod dns_responder;
mod stream;
mod tally;

use crate::protocol::failure::Failure;
use crate::protocol::values::{Canary, Rate, Seconds, Token};
use crate::tasks::context::{Context, Started};
use crate::tasks::udp::source::check_size;
use crate::timing::clock;
use crate::timing::schedule::Schedule;
use attempt::Attempt;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use tally::{Tallied, Tally};

const MOST_FLOWS: usize = 32;
/// Attempts of one flow that wait for an answer.
const MOST_WAITING: usize = 64;
const NAP_NS: u64 = 1_000_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    flows: Vec<Flow>,
    token: Token,
    #[serde(default)]
    canary: Canary,
    duration_max_s: Seconds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// To an `echo`.
    Udp,
    /// To the kernel.
    Icmp,
    /// To a `tcp_responder`, a connection each.
    Tcp,
    /// To a `tcp_responder`, over one connection, and another if it breaks.
    TcpStream,
    /// By getaddrinfo of the C library, which reads /etc/resolv.conf.
    Dns,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    name: String,
    kind: Kind,
    /// Not for `dns`.
    to: Option<IpAddr>,
    #[serde(default)]
    port: u16,
    rate_pps: Rate,
    /// Bytes of each message.
    #[serde(default = "two_hundred")]
    payload_size: usize,
    /// For an answer of `tcp`.
    #[serde(default = "a_second")]
    timeout_s: Seconds,
}

fn two_hundred() -> usize {
    200
}

fn a_second() -> Seconds {
    Seconds::new(1.0).expect("one is in range")
}

#[derive(Debug, Serialize)]
pub struct Sent {
    flows: Vec<Tallied>,
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Sent, Failure> {
    check(parameters)?;
    let started_ns = clock::monotonic_ns();
    clock::use_exact_timers();
    context.ready(Started { started_ns });
    let until_ns = started_ns + parameters.duration_max_s.ns();
    let tallies: Vec<Tally> = parameters
        .flows
        .iter()
        .map(|_| Tally::new(started_ns))
        .collect();
    std::thread::scope(|scope| {
        for (at, (flow, tally)) in parameters.flows.iter().zip(&tallies).enumerate() {
            let schedule = in_turn(flow.rate_pps, started_ns, at, tallies.len());
            scope.spawn(move || {
                let attempt = Attempt::new(parameters, flow, context);
                match flow.kind {
                    Kind::Udp | Kind::Icmp => one_by_one(&attempt, &schedule, tally, until_ns),
                    Kind::Tcp | Kind::Dns => side_by_side(&attempt, &schedule, tally, until_ns),
                    Kind::TcpStream => stream::run(&attempt, &schedule, tally, until_ns),
                }
            });
        }
    });
    let flows = parameters.flows.iter().zip(tallies);
    Ok(Sent {
        flows: flows
            .map(|(flow, tally)| tally.finish(flow.name.clone()))
            .collect(),
    })
}

/// Of flow `at` of so many. In step all would send at once, and be silent together until the next.
fn in_turn(rate: Rate, started_ns: u64, at: usize, flows: usize) -> Schedule {
    let ahead_ns = 1e9 / rate.per_second() * at as f64 / flows as f64;
    Schedule::new(started_ns.saturating_sub(ahead_ns as u64), rate)
}

/// An answer is waited for until the next message is due.
fn one_by_one(attempt: &Attempt<'_>, schedule: &Schedule, tally: &Tally, until_ns: u64) {
    let mut number = 0;
    while let Some(next_ns) = next_turn(attempt, schedule, tally, &mut number, until_ns) {
        tally.begin();
        tally.end(attempt.echo(number, next_ns));
    }
}

/// Each in a thread: a connection or a look-up that gets no answer delays no other.
fn side_by_side(attempt: &Attempt<'_>, schedule: &Schedule, tally: &Tally, until_ns: u64) {
    let waiting = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let mut number = 0;
        while next_turn(attempt, schedule, tally, &mut number, until_ns).is_some() {
            while waiting.load(Ordering::Relaxed) >= MOST_WAITING {
                if !attempt.wait_until(clock::monotonic_ns() + NAP_NS) {
                    return;
                }
            }
            tally.begin();
            waiting.fetch_add(1, Ordering::Relaxed);
            let waiting = &waiting;
            scope.spawn(move || {
                tally.end(attempt.dialogue(number));
                waiting.fetch_sub(1, Ordering::Relaxed);
            });
        }
    });
}

/// Waits for the turn of the next message, its number; returns until when an answer can be waited
/// for: the one after it is due then. None at the end. Turns that have passed, such as those of a
/// program that was stopped, are left out.
fn next_turn(
    attempt: &Attempt<'_>,
    schedule: &Schedule,
    tally: &Tally,
    number: &mut u64,
    until_ns: u64,
) -> Option<u64> {
    let now_ns = clock::monotonic_ns();
    *number = (*number + 1).max(schedule.count_before(now_ns));
    let due_ns = schedule.time_ns(*number);
    let goes_on = due_ns < until_ns && attempt.wait_until(due_ns);
    tally.turn(clock::monotonic_ns());
    goes_on.then(|| schedule.time_ns(*number + 1).saturating_sub(NAP_NS))
}

fn check(parameters: &Parameters) -> Result<(), Failure> {
    if parameters.flows.is_empty() || parameters.flows.len() > MOST_FLOWS {
        return Err(Failure::new(
            "flows",
            format!("{} flows", parameters.flows.len()),
            format!("give 1 to {MOST_FLOWS}"),
        ));
    }
    for flow in &parameters.flows {
        check_size(flow.payload_size)?;
        if flow.kind != Kind::Dns && flow.to.is_none() {
            return Err(Failure::new(
                format!("flow {}", flow.name.escape_debug()),
                "`to` is missing",
                "give the address to send to",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_of_one_rate_take_turns() {
        let (started_ns, gap_ns) = (7_000_000_000, 20_000_000);
        let first = |at| in_turn(Rate::new(50.0).unwrap(), started_ns, at, 4).time_ns(1);
        let turns: Vec<u64> = (0..4).rev().map(|at| first(at) - started_ns).collect();
        assert_eq!(turns, [1, 2, 3, 4].map(|quarter| quarter * gap_ns / 4));
    }
}
