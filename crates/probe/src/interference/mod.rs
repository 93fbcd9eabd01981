//! What is done to a VPN from outside while it is measured.
//!
//! A process that is stopped, frozen or starved handles no packets, and nothing of that is in the
//! figures but their size. Changes of devices, addresses, routes and queues are reported by the
//! kernel, each of them; processes and control groups are looked at again and again.

mod changes;
mod episode;
mod groups;
mod members;
mod text;

use crate::accounting::processes::Processes;
use crate::timing::clock;
use crate::timing::stop::Stop;
use changes::Changes;
use episode::{Book, Episode};
use members::{Members, Unseen};
use nix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// Stops that are shorter are known to the process's parent, and counted times to the kernel.
const LOOK_NS: u64 = 20_000_000;
/// One look in so many goes to threads, children and counted times.
const CLOSELY: u64 = 5;

#[derive(Debug, Serialize)]
pub struct Interference {
    pub started_ns: u64,
    pub processes: usize,
    pub devices: usize,
    pub looks: u64,
    /// A stop that was shorter than this may not have been seen.
    pub longest_gap_ns: u64,
    /// Processor time of the observation itself.
    pub cpu_ns: u64,
    /// What could not be observed, with the reason.
    pub unseen: Vec<String>,
    pub episodes: Vec<Episode>,
    /// Episodes beyond the first hundred.
    pub left_out: usize,
}

/// What is observed; from its creation on no change of the network is missed.
pub struct Watch {
    members: Members,
    changes: Option<Changes>,
    unseen: Vec<String>,
    book: Book,
}

impl Watch {
    pub fn new(processes: &Processes, devices: &[String]) -> Watch {
        let (mut members, mut unseen) = (Members::new(), Vec::new());
        for (identity, process) in processes {
            if let Err(Unseen(why)) = members.add(identity.pid, &process.label) {
                unseen.push(why);
            }
        }
        if members.len() > 0 && !members.groups_are_visible() {
            unseen.push("control groups: none are mounted where this can be seen".to_owned());
        }
        let changes = Changes::open(devices)
            .map_err(|error| unseen.push(format!("changes of devices: {error}")));
        Watch {
            members,
            changes: changes.ok(),
            unseen,
            book: Book::default(),
        }
    }

    /// Observes until that time, or until the task is requested to end.
    pub fn until(mut self, stop: &Stop, deadline_ns: u64) -> Interference {
        let processes = self.members.len();
        let cpu_before_ns = own_cpu_ns();
        let (mut looks, mut longest_gap_ns) = (0, 0);
        let started_ns = clock::monotonic_ns();
        let mut last_ns = started_ns;
        let mut closely_ns = last_ns;
        self.members.look(&mut self.book, last_ns);
        loop {
            let reported = self.wait(stop, deadline_ns.min(last_ns + LOOK_NS));
            let now_ns = clock::monotonic_ns();
            if reported {
                self.take(now_ns);
            }
            let is_last = stop.requested() || now_ns >= deadline_ns;
            if now_ns < last_ns + LOOK_NS && !is_last {
                continue;
            }
            self.members.look(&mut self.book, now_ns);
            looks += 1;
            longest_gap_ns = longest_gap_ns.max(now_ns - last_ns);
            last_ns = now_ns;
            if looks % CLOSELY == 0 || is_last {
                self.members.look_closely(&mut self.book, closely_ns);
                closely_ns = now_ns;
            }
            if is_last {
                break;
            }
        }
        self.take(last_ns);
        if self.changes.as_ref().is_some_and(|changes| changes.lost) {
            let why = "changes of devices: more than the kernel's buffer holds";
            self.unseen.push(why.to_owned());
        }
        let devices = self.changes.as_ref().map_or(0, Changes::len);
        let (episodes, left_out) = self.book.finish(clock::monotonic_ns());
        Interference {
            started_ns,
            processes,
            devices,
            looks,
            longest_gap_ns,
            cpu_ns: own_cpu_ns() - cpu_before_ns,
            unseen: self.unseen,
            episodes,
            left_out,
        }
    }

    /// Until the kernel reports something (true), for a request to end, or for the time.
    fn wait(&self, stop: &Stop, until_ns: u64) -> bool {
        match &self.changes {
            Some(changes) => stop.wait_readable(changes.descriptor(), until_ns),
            None => {
                stop.wait_until(until_ns);
                false
            }
        }
    }

    fn take(&mut self, now_ns: u64) {
        let members = &self.members;
        let is_own = |pid: u32| members.has(pid as i32) || members.has(parent(pid).unwrap_or(0));
        if let Some(changes) = &mut self.changes {
            changes.take(&mut self.book, now_ns, is_own);
        }
    }
}

fn parent(pid: u32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// Of this thread.
fn own_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    time.map_or(0, |time| {
        time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
    })
}
