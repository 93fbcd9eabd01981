//! Processes by their parents and groups, from /proc.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::time::{Duration, Instant};

/// How long killed processes may take to end.
const GONE: Duration = Duration::from_secs(3);

struct Stat {
    pid: i32,
    state: char,
    parent: i32,
    group: i32,
}

/// All descendants of a process that run; zombies do not count.
pub fn descendants(root: i32) -> Vec<i32> {
    let all = all();
    let mut children: HashMap<i32, Vec<&Stat>> = HashMap::new();
    for stat in &all {
        children.entry(stat.parent).or_default().push(stat);
    }
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut next = vec![root];
    while let Some(parent) = next.pop() {
        for stat in children.get(&parent).into_iter().flatten() {
            if seen.insert(stat.pid) {
                next.push(stat.pid);
                if runs(stat) {
                    found.push(stat.pid);
                }
            }
        }
    }
    found
}

/// Kills what is found until nothing is, which may start more meanwhile; false if some do not end.
pub fn end(find: impl Fn() -> Vec<i32>) -> bool {
    let deadline = Instant::now() + GONE;
    loop {
        let alive = find();
        for &pid in &alive {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        if alive.is_empty() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Processes whose /run is that of a view (proc_pid_mountinfo(5)): what a killed guard could not end.
pub fn of_view(identity: &str) -> Vec<i32> {
    let own = std::process::id() as i32;
    let sees = |pid: i32| {
        let mounts = fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap_or_default();
        mounts.lines().any(|line| {
            let (place, device) = line.split_once(" - ").unwrap_or_default();
            place.split(' ').nth(4) == Some("/run") && device.split(' ').nth(1) == Some(identity)
        })
    };
    let others = all()
        .into_iter()
        .filter(|stat| stat.pid != own && runs(stat));
    others
        .map(|stat| stat.pid)
        .filter(|&pid| sees(pid))
        .collect()
}

/// Whether a process of the group runs.
pub fn group_runs(group: i32) -> bool {
    all().iter().any(|stat| stat.group == group && runs(stat))
}

/// A process and its descendants that are stopped or traced.
pub fn stopped(pid: i32) -> Vec<i32> {
    let mut family = descendants(pid);
    family.push(pid);
    let is_stopped = |stat: &Stat| matches!(stat.state, 'T' | 't') && family.contains(&stat.pid);
    all()
        .iter()
        .filter(|stat| is_stopped(stat))
        .map(|stat| stat.pid)
        .collect()
}

fn runs(stat: &Stat) -> bool {
    !matches!(stat.state, 'Z' | 'X')
}

fn all() -> Vec<Stat> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            parse(pid, &fs::read_to_string(entry.path().join("stat")).ok()?)
        })
        .collect()
}

/// proc_pid_stat(5): the name in parentheses may contain anything.
fn parse(pid: i32, text: &str) -> Option<Stat> {
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
    Some(Stat {
        pid,
        state: fields.next()?.chars().next()?,
        parent: fields.next()?.parse().ok()?,
        group: fields.next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_contain_parentheses_and_spaces() {
        let stat = parse(7, "7 (a) S 1 (b) S 3 5 5 0").unwrap();
        assert_eq!((stat.state, stat.parent, stat.group), ('S', 3, 5));
        assert!(parse(7, "7 (a").is_none());
    }

    #[test]
    fn a_child_is_a_descendant() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let pid = child.id() as i32;
        assert!(descendants(std::process::id() as i32).contains(&pid));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
