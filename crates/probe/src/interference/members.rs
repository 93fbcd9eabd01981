//! The processes of a VPN: their states, threads and control groups, look by look.

use super::episode::{Book, Kind, Subject, What};
use super::groups::{Groups, Lost, Place};
use super::text::read;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};

const QUICK: [Kind; 4] = [Kind::Stopped, Kind::Traced, Kind::Frozen, Kind::Moved];
const THOROUGH: [Kind; 3] = [Kind::Affinity, Kind::Priority, Kind::Limited];

/// A process that cannot be looked at, and why.
pub struct Unseen(pub String);

pub struct Members {
    all: BTreeMap<i32, Member>,
    groups: Groups,
}

struct Member {
    label: String,
    /// Of its leader: the whole process's sums up the times of all threads.
    stat: File,
    cgroup: File,
    membership: String,
    first: Place,
    place: Place,
    traced: bool,
    /// Control groups that only some of its threads were moved to.
    strayed: BTreeSet<String>,
    threads: BTreeMap<i32, Thread>,
}

struct Thread {
    stat: File,
    cgroup: Option<File>,
    membership: Option<String>,
    children: Option<File>,
    affinity: Option<CpuSet>,
    scheduling: Option<Scheduling>,
}

/// sched_getattr(2): its version 0.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    of_deadlines: [u64; 3],
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Scheduling {
    policy: u32,
    nice: i32,
    priority: u32,
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
            first: place.clone(),
            place,
            traced: false,
            strayed: BTreeSet::new(),
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
                member.membership = membership;
            }
            let mut add = |kind, detail: &str| found.insert(member.what(*pid, kind, detail));
            match state(&member.stat) {
                Some('T') => add(Kind::Stopped, ""),
                Some('t') => add(Kind::Traced, ""),
                _ if member.traced => add(Kind::Traced, ""),
                _ => false,
            };
            if let Some(group) = self.groups.frozen(&member.place) {
                add(Kind::Frozen, &group);
            }
            if member.place.names != member.first.names {
                add(Kind::Moved, &member.moved_to());
            }
            for group in &member.strayed {
                add(Kind::Moved, group);
            }
        }
        book.look(&QUICK, found, now_ns);
    }

    /// What takes more time to find: threads, children, limits, times that the kernel counts.
    pub fn look_closely(&mut self, book: &mut Book, since_ns: u64, now_ns: u64) {
        let mut found = BTreeSet::new();
        let mut born = Vec::new();
        self.all.retain(|_, member| state(&member.stat).is_some());
        for (pid, member) in &mut self.all {
            member.find_threads(*pid);
            let (changes, children) = member.changes();
            born.extend(
                children
                    .into_iter()
                    .map(|child| (child, member.label.clone())),
            );
            member.traced = member.is_traced(*pid);
            member.strayed = member.strays();
            for (kind, detail) in changes {
                found.insert(member.what(*pid, kind, &detail));
            }
            for limit in self.groups.limited(&member.place) {
                found.insert(member.what(*pid, Kind::Limited, &limit));
            }
        }
        book.look(&THOROUGH, found, now_ns);
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
                    .filter(|_| member.place.is_in(&directory))
                {
                    let kind = if lost.shared {
                        Kind::ThrottledTogether
                    } else {
                        Kind::Throttled
                    };
                    member.lost(*pid, kind, lost, book, since_ns);
                }
                let frozen = frozen.as_ref();
                if let Some(lost) = frozen.filter(|_| member.place.is_directly_in(&directory)) {
                    member.lost(*pid, Kind::Frozen, lost, book, since_ns);
                }
            }
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

    fn moved_to(&self) -> String {
        let both = self.place.names.iter().zip(&self.first.names);
        let mut new = both.filter(|(now, first)| now != first).map(|(now, _)| now);
        new.next().cloned().unwrap_or_default()
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
            if !self.threads.contains_key(&tid)
                && let Some(thread) = Thread::open(pid, tid)
            {
                self.threads.insert(tid, thread);
            }
        }
    }

    /// Of its threads against what they were when they were first seen; and its children.
    fn changes(&mut self) -> (BTreeSet<(Kind, String)>, Vec<i32>) {
        let (mut changes, mut children) = (BTreeSet::new(), Vec::new());
        for (tid, thread) in &self.threads {
            let now = affinity(*tid);
            if let (Some(now), Some(first)) = (now, thread.affinity)
                && now != first
            {
                let detail = format!("{} instead of {}", processors(&now), processors(&first));
                changes.insert((Kind::Affinity, detail));
            }
            let now = scheduling(*tid);
            if let (Some(now), Some(first)) = (now, thread.scheduling)
                && now != first
            {
                let detail = format!("{} instead of {}", now.in_words(), first.in_words());
                changes.insert((Kind::Priority, detail));
            }
            let born = thread.children.as_ref().and_then(read).unwrap_or_default();
            children.extend(
                born.split_ascii_whitespace()
                    .filter_map(|pid| pid.parse::<i32>().ok()),
            );
        }
        (changes, children)
    }

    /// Groups of threads that are in none of their process's and were not there at first.
    fn strays(&self) -> BTreeSet<String> {
        let mut groups = BTreeSet::new();
        for thread in self.threads.values() {
            let now = thread.cgroup.as_ref().and_then(read);
            if now.is_none() || now == thread.membership {
                continue;
            }
            let now = now.unwrap_or_default();
            let known: BTreeSet<&str> = self.membership.lines().collect();
            let elsewhere = now.lines().filter(|line| !known.contains(line));
            groups.extend(elsewhere.map(|line| format!("{}, a thread of it", group_of(line))));
        }
        groups
    }

    fn is_traced(&self, pid: i32) -> bool {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let tracer = status
            .lines()
            .find_map(|line| line.strip_prefix("TracerPid:"));
        let by_another = tracer.is_some_and(|tracer| tracer.trim() != "0");
        by_another
            || self
                .threads
                .values()
                .any(|one| state(&one.stat) == Some('t'))
    }
}

impl Thread {
    fn open(pid: i32, tid: i32) -> Option<Thread> {
        let file = |name: &str| File::open(format!("/proc/{pid}/task/{tid}/{name}")).ok();
        let cgroup = file("cgroup");
        Some(Thread {
            stat: file("stat")?,
            membership: cgroup.as_ref().and_then(read),
            cgroup,
            children: file("children"),
            affinity: affinity(tid),
            scheduling: scheduling(tid),
        })
    }
}

impl Scheduling {
    /// sched(7): the policies by number.
    fn in_words(self) -> String {
        match self.policy {
            0 => format!("nice {}", self.nice),
            3 => format!("SCHED_BATCH, nice {}", self.nice),
            5 => "SCHED_IDLE".to_owned(),
            policy => format!("policy {policy}, priority {}", self.priority),
        }
    }
}

/// Of a line of /proc/PID/cgroup: number, controllers, group.
fn group_of(line: &str) -> &str {
    line.splitn(3, ':').last().unwrap_or(line)
}

/// proc_pid_stat(5): the name in parentheses may contain anything. None of a zombie.
fn state(stat: &File) -> Option<char> {
    let text = read(stat)?;
    let state = text.rsplit_once(") ")?.1.chars().next()?;
    (!matches!(state, 'Z' | 'X')).then_some(state)
}

fn affinity(tid: i32) -> Option<CpuSet> {
    sched_getaffinity(Pid::from_raw(tid)).ok()
}

fn processors(set: &CpuSet) -> String {
    let numbers = (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false));
    numbers
        .map(|cpu| cpu.to_string())
        .collect::<Vec<_>>()
        .join(",")
}

fn scheduling(tid: i32) -> Option<Scheduling> {
    let mut found = Attributes::default();
    let size = size_of::<Attributes>();
    // SAFETY: the kernel writes at most `size` bytes to `found`, which lives until it returns.
    let done = unsafe { libc::syscall(libc::SYS_sched_getattr, tid, &raw mut found, size, 0) };
    (done == 0).then_some(Scheduling {
        policy: found.policy,
        nice: found.nice,
        priority: found.priority,
    })
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
    fn another_nice_value_is_a_change() {
        let child = Running::start();
        let (mut members, mut book) = (Members::new(), Book::default());
        members.add(child.pid(), "vpn").unwrap_or_else(|_| panic!());
        members.look_closely(&mut book, 0, 1);
        // SAFETY: takes numbers.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, child.pid() as u32, 7) };
        members.look_closely(&mut book, 1, 2);
        assert_eq!(kinds(book), [Kind::Priority]);
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
        members.look_closely(&mut book, 2, 3);
        assert_eq!(members.len(), 0);
        assert_eq!(kinds(book), []);
        assert!(members.add(-1, "nobody").is_err());
    }
}
