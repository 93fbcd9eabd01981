//! `accounting`: processor time, memory, traffic and drops, from its start to its end.

use super::beside::{Beside, Counted, Wanted};
use crate::accounting::delta::{Delta, between};
use crate::accounting::processes::{Processes, UNDECLARED, Watched};
use crate::accounting::snapshot::{End, Scope, Snapshot};
use crate::interference::{Interference, Watch};
use crate::protocol::failure::Failure;
use crate::protocol::values::Seconds;
use crate::tasks::context::{Context, Started};
use crate::timing::clock;
use regex_lite::Regex;
use serde::{Deserialize, Serialize};
use std::thread;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Processes, whose descendants are taken along.
    #[serde(default)]
    pids: Vec<Watched>,
    /// Whether to report each of their threads, and how long they waited for a processor.
    #[serde(default = "yes")]
    by_thread: bool,
    /// Process 1 of a PID namespace, whose other processes are added as "undeclared".
    node_init: Option<i32>,
    /// Regular expressions for names of kernel threads.
    #[serde(default)]
    kernel_threads: Vec<String>,
    #[serde(default)]
    devices: Vec<String>,
    /// Whether to observe what is done to the processes and the devices from outside.
    #[serde(default)]
    interference: bool,
    /// Of which device to count the packets that are not the lab's.
    beside: Option<Wanted>,
    #[serde(default = "a_day")]
    duration_max_s: Seconds,
}

fn yes() -> bool {
    true
}

fn a_day() -> Seconds {
    Seconds::new(Seconds::MAX).expect("the maximum is in range")
}

#[derive(Debug, Serialize)]
pub struct Accounted {
    #[serde(flatten)]
    delta: Delta,
    /// None if the request did not want it.
    interference: Option<Interference>,
    beside: Option<Counted>,
}

/// Those that the request names, and their descendants.
fn declared(processes: &Processes) -> Processes {
    let all = processes.iter();
    all.filter(|(_, process)| process.label != UNDECLARED)
        .map(|(identity, process)| (*identity, process.clone()))
        .collect()
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Accounted, Failure> {
    let scope = Scope {
        watched: parameters.pids.clone(),
        by_thread: parameters.by_thread,
        node_init: parameters.node_init,
        kernel_threads: compile(&parameters.kernel_threads)?,
        devices: parameters.devices.clone(),
    };
    let beside = parameters.beside.as_ref().map(Beside::open).transpose()?;
    let before = Snapshot::take(&scope, End::First)?;
    let watch = parameters
        .interference
        .then(|| Watch::new(&declared(&before.processes), &scope.devices));
    context.ready(Started {
        started_ns: before.time_ns,
    });
    let deadline_ns = clock::monotonic_ns() + parameters.duration_max_s.ns();
    let (interference, beside) = thread::scope(|threads| {
        let counting = beside
            .map(|beside| threads.spawn(move || beside.count_until(&context.stop, deadline_ns)));
        let interference = watch.map(|watch| watch.until(&context.stop, deadline_ns));
        context.stop.wait_until(deadline_ns);
        let joined = counting.map(|counting| counting.join().expect("counting does not panic"));
        (interference, joined)
    });
    let after = Snapshot::take(&scope, End::Last)?;
    let beside = beside.transpose()?.map(Beside::finish).transpose()?;
    let mut delta = between(&before, &after);
    if !parameters.by_thread {
        delta.leave_threads_out();
    }
    Ok(Accounted {
        delta,
        interference,
        beside,
    })
}

fn compile(names: &[String]) -> Result<Vec<Regex>, Failure> {
    let compiled = names.iter().map(|name| {
        Regex::new(name).map_err(|error| {
            Failure::new(
                format!("kernel_threads: {}", name.escape_debug()),
                error.to_string(),
                "give regular expressions",
            )
        })
    });
    compiled.collect()
}
