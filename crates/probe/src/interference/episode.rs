//! Episodes of interference: what was done, to what, from when to when. Pure.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A device that flaps for a whole trial must not fill the answer.
const MOST: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// By SIGSTOP and its like, or by a tracer.
    Stopped,
    /// By a control group.
    Frozen,
    /// By the quota of a control group that the observer is not in.
    Throttled,
    /// By the quota of a control group that the observer is in as well.
    ThrottledTogether,
    DeviceDown,
    NoCarrier,
    Mtu,
    /// Hardware address and ARP of a device.
    Settings,
    Address,
    Route,
    Queue,
}

/// To what something was done. A thread's changes are its process's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    Process {
        label: String,
        pid: i32,
    },
    Device(String),
    /// The network of the node.
    Node,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct What {
    pub kind: Kind,
    pub subject: Subject,
    /// The group, the value, the address.
    pub detail: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Episode {
    #[serde(flatten)]
    pub what: What,
    pub start_ns: u64,
    /// As far as it was seen; of a quota, the time without a processor.
    pub lasted_ns: u64,
    /// Its time is the kernel's count: it is open until the end.
    #[serde(skip)]
    counted: bool,
}

/// Open episodes by what they are, and those that have ended.
#[derive(Debug, Default)]
pub struct Book {
    open: BTreeMap<What, Episode>,
    closed: Vec<Episode>,
    pub left_out: usize,
}

impl Book {
    /// Begins an episode, unless it is open.
    pub fn begin(&mut self, what: What, now_ns: u64) {
        self.open.entry(what.clone()).or_insert(Episode {
            what,
            start_ns: now_ns,
            lasted_ns: 0,
            counted: false,
        });
    }

    /// Ends an episode; whether it was open.
    pub fn end(&mut self, what: &What, now_ns: u64) -> bool {
        let Some(mut episode) = self.open.remove(what) else {
            return false;
        };
        episode.lasted_ns = now_ns.saturating_sub(episode.start_ns);
        self.close(episode);
        true
    }

    /// Adds a time that the kernel counts itself.
    pub fn count(&mut self, what: What, from_ns: u64, lasted_ns: u64) {
        self.begin(what.clone(), from_ns);
        if let Some(episode) = self.open.get_mut(&what) {
            episode.lasted_ns += lasted_ns;
            episode.counted = true;
        }
    }

    /// A look at all processes, which finds these in force: all others of processes have ended.
    pub fn look(&mut self, found: BTreeSet<What>, now_ns: u64) {
        let of_a_process = |what: &What| matches!(what.subject, Subject::Process { .. });
        let over: Vec<What> = self
            .open
            .values()
            .filter(|episode| !episode.counted && of_a_process(&episode.what))
            .map(|episode| episode.what.clone())
            .filter(|what| !found.contains(what))
            .collect();
        for what in &over {
            self.end(what, now_ns);
        }
        for what in found {
            self.begin(what, now_ns);
        }
    }

    /// All of them, the first first. What is still in force lasts until now.
    pub fn finish(mut self, now_ns: u64) -> (Vec<Episode>, usize) {
        for mut episode in std::mem::take(&mut self.open).into_values() {
            if !episode.counted {
                episode.lasted_ns = now_ns.saturating_sub(episode.start_ns);
            }
            self.close(episode);
        }
        self.closed.sort_by_key(|episode| episode.start_ns);
        (self.closed, self.left_out)
    }

    fn close(&mut self, episode: Episode) {
        if self.closed.len() < MOST {
            self.closed.push(episode);
        } else {
            self.left_out += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what(kind: Kind, name: &str) -> What {
        What {
            kind,
            subject: Subject::Device(name.to_owned()),
            detail: String::new(),
        }
    }

    #[test]
    fn a_look_opens_and_ends_episodes_of_processes_only() {
        let stopped = What {
            kind: Kind::Stopped,
            subject: Subject::Process {
                label: "a".to_owned(),
                pid: 7,
            },
            detail: String::new(),
        };
        let mut book = Book::default();
        book.begin(what(Kind::DeviceDown, "b"), 5);
        book.look(BTreeSet::from([stopped.clone()]), 10);
        book.look(BTreeSet::from([stopped]), 20);
        book.look(BTreeSet::new(), 30);
        let (found, left_out) = book.finish(105);
        let times = |episode: &Episode| (episode.what.kind, episode.start_ns, episode.lasted_ns);
        let times: Vec<_> = found.iter().map(times).collect();
        assert_eq!(times, [(Kind::DeviceDown, 5, 100), (Kind::Stopped, 10, 20)]);
        assert_eq!(left_out, 0);
    }

    #[test]
    fn counted_times_add_up() {
        let mut book = Book::default();
        book.count(what(Kind::Throttled, "a"), 1, 30);
        book.count(what(Kind::Throttled, "a"), 50, 12);
        assert_eq!(book.finish(1000).0[0].lasted_ns, 42);
    }

    #[test]
    fn a_flood_is_bounded_and_counted() {
        let mut book = Book::default();
        for now_ns in 0..MOST as u64 + 7 {
            book.begin(what(Kind::Mtu, "a"), now_ns);
            book.end(&what(Kind::Mtu, "a"), now_ns);
        }
        let (found, left_out) = book.finish(1000);
        assert_eq!((found.len(), left_out), (MOST, 7));
    }
}
