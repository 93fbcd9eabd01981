//! The processes of a VPN: their states, threads and control groups, look by look.

use super::episode::{Book, Kind, Subject, What};
use super::groups::{Groups, Lost, Place};
use super::text::read;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};

/// A process that cannot be looked at, and why.
pub struct Unseen(pub String);

pub struct Members {
    all: BTreeMap<i32, Member>,
    groups: Groups,
}

struct Member {
    label: String,
    /// Of its leader: a stop is the whole process's.
    stat: File,
    cgroup: File,
    membership: String,
    /// With that of threads that were moved alone.
    place: Place,
    /// Where it was since times were counted last.
    visited: Place,
    threads: BTreeMap<i32, Thread>,
}

struct Thread {
    cgroup: Option<File>,
    children: Option<File>,
}

impl Members {
    pub fn new() -> Members {
        Members {
            all: BTreeMap::new(),
            groups: Groups::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn has(&self, pid: i32) -> bool {
        self.all.contains_key(&pid)
    }

    pub fn groups_are_visible(&self) -> bool {
        self.groups.visible()
    }

    pub fn add(&mut self, pid: i32, label: &str) -> Result<(), Unseen> {
        let unseen = |error: std::io::Error| Unseen(format!("process {pid}: {error}"));
        let file = |name: &str| File::open(format!("/proc/{pid}/{name}")).map_err(unseen);
        let cgroup = file("cgroup")?;
        let membership = read(&cgroup).unwrap_or_default();
        let place = self.groups.place(&membership);
        let mut member = Member {
            label: label.to_owned(),
            stat: file(&format!("task/{pid}/stat"))?,
            cgroup,
            membership,
            visited: place.clone(),
            place,
            threads: BTreeMap::new(),
        };
        member.find_threads(pid);
        self.all.insert(pid, member);
        Ok(())
    }

    /// What changes a process at once, and ends again.
    pub fn look(&mut self, book: &mut Book, now_ns: u64) {
        let mut found = BTreeSet::new();
        for (pid, member) in &mut self.all {
            if let Some(membership) = read(&member.cgroup)
                && membership != member.membership
            {
                member.place = self.groups.place(&membership);
                member.visited.add(&member.place);
                member.membership = membership;
            }
            if matches!(state(&member.stat), Some('T' | 't')) {
                found.insert(member.what(*pid, Kind::Stopped, ""));
            }
            if let Some(group) = self.groups.frozen(&member.place) {
                found.insert(member.what(*pid, Kind::Frozen, &group));
            }
        }
        book.look(found, now_ns);
    }

    /// What takes more time to find: threads, children, times that the kernel counts.
    pub fn look_closely(&mut self, book: &mut Book, since_ns: u64) {
        let mut born = Vec::new();
        self.all.retain(|_, member| state(&member.stat).is_some());
        for (pid, member) in &mut self.all {
            member.find_threads(*pid);
            member.place = self.groups.place(&member.membership);
            for thread in member.threads.values() {
                let of_thread = thread.cgroup.as_ref().and_then(read);
                if let Some(other) = of_thread.filter(|one| *one != member.membership) {
                    member.place.add(&self.groups.place(&other));
                }
                let children = thread.children.as_ref().and_then(read).unwrap_or_default();
                let children = children.split_ascii_whitespace().flat_map(str::parse);
                born.extend(children.map(|child: i32| (child, member.label.clone())));
            }
            member.visited.add(&member.place);
        }
        for (child, label) in born {
            if !self.has(child) {
                let _ = self.add(child, &label); // it may have ended again
            }
        }
        self.count(book, since_ns);
    }

    fn count(&mut self, book: &mut Book, since_ns: u64) {
        for (directory, (throttled, frozen)) in self.groups.lost() {
            for (pid, member) in &self.all {
                if let Some(lost) = throttled
                    .as_ref()
                    .filter(|_| member.visited.is_in(&directory))
                {
                    let kind = if lost.shared {
                        Kind::ThrottledTogether
                    } else {
                        Kind::Throttled
                    };
                    member.lost(*pid, kind, lost, book, since_ns);
                }
                let frozen = frozen.as_ref();
                if let Some(lost) = frozen.filter(|_| member.visited.is_directly_in(&directory)) {
                    member.lost(*pid, Kind::Frozen, lost, book, since_ns);
                }
            }
        }
        for member in self.all.values_mut() {
            member.visited = member.place.clone();
        }
    }
}

impl Member {
    fn what(&self, pid: i32, kind: Kind, detail: &str) -> What {
        What {
            kind,
            subject: Subject::Process {
                label: self.label.clone(),
                pid,
            },
            detail: detail.to_owned(),
        }
    }

    fn lost(&self, pid: i32, kind: Kind, lost: &Lost, book: &mut Book, since_ns: u64) {
        book.count(self.what(pid, kind, &lost.group), since_ns, lost.lasted_ns);
    }

    fn find_threads(&mut self, pid: i32) {
        let entries = fs::read_dir(format!("/proc/{pid}/task"));
        let present: Vec<i32> = entries
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect();
        self.threads.retain(|tid, _| present.contains(tid));
        for tid in present {
            let file = |name: &str| File::open(format!("/proc/{pid}/task/{tid}/{name}")).ok();
            self.threads.entry(tid).or_insert_with(|| Thread {
                cgroup: file("cgroup"),
                children: file("children"),
            });
        }
    }
}

/// proc_pid_stat(5): the name in parentheses may contain anything. None of a zombie.
fn state(stat: &File) -> Option<char> {
    let text = read(stat)?;
    let state = text.rsplit_once(") ")?.1.chars().next()?;
    (!matches!(state, 'Z' | 'X')).then_some(state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    struct Running(Child);

    impl Running {
        fn start() -> Running {
            Running(Command::new("sleep").arg("60").spawn().unwrap())
        }

        fn pid(&self) -> i32 {
            self.0.id() as i32
        }

        fn signal(&self, number: i32) {
            // SAFETY: kill has no memory to harm; the child is not reaped yet.
            unsafe { libc::kill(self.pid(), number) };
        }
    }

    impl Drop for Running {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn kinds(book: Book) -> Vec<Kind> {
        let (found, _) = book.finish(100);
        found.into_iter().map(|episode| episode.what.kind).collect()
    }

    fn until_state(child: &Running, wanted: Option<char>) {
        let stat = File::open(format!("/proc/{}/stat", child.pid())).unwrap();
        while state(&stat) != wanted {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_stop_is_an_episode_from_look_to_look() {
        let child = Running::start();
        let (mut members, mut book) = (Members::new(), Book::default());
        members.add(child.pid(), "vpn").unwrap_or_else(|_| panic!());
        members.look(&mut book, 1);
        child.signal(libc::SIGSTOP);
        until_state(&child, Some('T'));
        members.look(&mut book, 2);
        child.signal(libc::SIGCONT);
        until_state(&child, Some('S'));
        members.look(&mut book, 3);
        let (found, _) = book.finish(100);
        let found: Vec<_> = found
            .iter()
            .map(|one| (one.what.kind, one.start_ns, one.lasted_ns))
            .collect();
        assert_eq!(found, [(Kind::Stopped, 2, 1)]);
    }

    #[test]
    fn one_that_is_left_alone_and_one_that_ends_are_no_interference() {
        let child = Running::start();
        let (mut members, mut book) = (Members::new(), Book::default());
        members.add(child.pid(), "vpn").unwrap_or_else(|_| panic!());
        members.look(&mut book, 1);
        child.signal(libc::SIGKILL);
        until_state(&child, None);
        members.look(&mut book, 2);
        members.look_closely(&mut book, 2);
        assert_eq!(members.len(), 0);
        assert_eq!(kinds(book), []);
        assert!(members.add(-1, "nobody").is_err());
    }
}
