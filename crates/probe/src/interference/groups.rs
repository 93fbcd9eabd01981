//! Control groups of processes: frozen or not, and time without a processor.
//!
//! A lab's node may see another sysfs than its own caller, without control groups: they are read in
//! the caller's view of the files, /proc/PID/root.

use super::text::read;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A mounted hierarchy: of version 2 without controllers.
struct Hierarchy {
    controllers: Vec<String>,
    /// The group that is mounted.
    root: String,
    directory: PathBuf,
}

/// One group's time as counted by the kernel, and what of it is new since the last look.
struct Counter {
    file: Option<File>,
    key: &'static str,
    unit_ns: u64,
    last: u64,
}

struct Group {
    name: String,
    shared: bool,
    throttled: Counter,
    frozen: Counter,
    /// Its file and the text of a group that is not frozen, where no time is counted.
    state: Option<(File, &'static str)>,
}

/// Where a process and its threads are: their groups, and those with all above them.
#[derive(Clone, Default)]
pub struct Place {
    leaves: BTreeSet<PathBuf>,
    chain: BTreeSet<PathBuf>,
}

/// What a look found in a group: its name, and the time in ns.
pub struct Lost {
    pub group: String,
    pub shared: bool,
    pub lasted_ns: u64,
}

pub struct Groups {
    hierarchies: Vec<Hierarchy>,
    own: BTreeSet<PathBuf>,
    open: BTreeMap<PathBuf, Group>,
}

impl Groups {
    pub fn new() -> Groups {
        let caller = std::os::unix::process::parent_id();
        let view = PathBuf::from(format!("/proc/{caller}/root"));
        let mounts = fs::read_to_string(format!("/proc/{caller}/mountinfo")).unwrap_or_default();
        let mut groups = Groups {
            hierarchies: hierarchies(&mounts, &view),
            own: BTreeSet::new(),
            open: BTreeMap::new(),
        };
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        groups.own = groups.place(&own).chain;
        groups
    }

    /// Whether the groups can be looked into, if there are any.
    pub fn visible(&self) -> bool {
        let seen = |one: &Hierarchy| one.directory.join("cgroup.procs").exists();
        self.hierarchies.iter().any(seen)
    }

    /// The place that /proc/PID/cgroup reports.
    pub fn place(&mut self, text: &str) -> Place {
        let mut place = Place::default();
        for line in text.lines() {
            let mut fields = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
                continue;
            };
            if !controllers
                .split(',')
                .any(|one| ["", "cpu", "freezer"].contains(&one))
            {
                continue;
            }
            let Some(hierarchy) = self.hierarchies.iter().find(|one| one.has(controllers)) else {
                continue;
            };
            let chain = hierarchy.chain(path);
            for (directory, name) in &chain {
                let shared = self.own.contains(directory);
                self.open
                    .entry(directory.clone())
                    .or_insert_with(|| Group::open(directory, name, shared));
            }
            let mut chain = chain.into_iter().map(|(directory, _)| directory);
            if let Some(leaf) = chain.next() {
                place.leaves.insert(leaf.clone());
                place.chain.insert(leaf);
            }
            place.chain.extend(chain);
        }
        place
    }

    /// The group that a process in this place is frozen by now.
    pub fn frozen(&self, place: &Place) -> Option<String> {
        place.leaves.iter().find_map(|leaf| {
            let group = self.open.get(leaf)?;
            let (file, thawed) = group.state.as_ref()?;
            let state = read(file)?;
            (!state.contains(thawed)).then(|| group.name.clone())
        })
    }

    /// By group of the place: times since the look before without a processor, and frozen.
    pub fn lost(&mut self) -> BTreeMap<PathBuf, (Option<Lost>, Option<Lost>)> {
        let mut found = BTreeMap::new();
        for (directory, group) in &mut self.open {
            let lost = |lasted_ns: u64| {
                (lasted_ns > 0).then(|| Lost {
                    group: group.name.clone(),
                    shared: group.shared,
                    lasted_ns,
                })
            };
            let both = (lost(group.throttled.step()), lost(group.frozen.step()));
            if both.0.is_some() || both.1.is_some() {
                found.insert(directory.clone(), both);
            }
        }
        found
    }
}

impl Place {
    pub fn add(&mut self, other: &Place) {
        self.leaves.extend(other.leaves.iter().cloned());
        self.chain.extend(other.chain.iter().cloned());
    }

    pub fn is_in(&self, directory: &Path) -> bool {
        self.chain.contains(directory)
    }

    pub fn is_directly_in(&self, directory: &Path) -> bool {
        self.leaves.contains(directory)
    }
}

impl Hierarchy {
    fn has(&self, controllers: &str) -> bool {
        match controllers {
            "" => self.controllers.is_empty(),
            some => some
                .split(',')
                .all(|one| self.controllers.iter().any(|own| own == one)),
        }
    }

    /// A group and those above it, without the root, which has no limits.
    fn chain(&self, path: &str) -> Vec<(PathBuf, String)> {
        let within = Path::new(path).strip_prefix(&self.root).ok();
        within
            .into_iter()
            .flat_map(Path::ancestors)
            .filter(|part| part.components().next().is_some())
            .map(|part| {
                let name = Path::new(&self.root).join(part);
                (self.directory.join(part), name.display().to_string())
            })
            .collect()
    }
}

impl Group {
    fn open(directory: &Path, name: &str, shared: bool) -> Group {
        let file = |name: &str| File::open(directory.join(name)).ok();
        let stat = file("cpu.stat");
        let text = stat.as_ref().and_then(read).unwrap_or_default();
        let (key, unit_ns) = if value(&text, "throttled_time").is_some() {
            ("throttled_time", 1)
        } else {
            ("throttled_usec", 1000)
        };
        let throttled = Counter::new(stat, key, unit_ns);
        let frozen = Counter::new(file("cgroup.stat.local"), "frozen_usec", 1000);
        let state = match frozen.file {
            Some(_) => None,
            None => file("freezer.state")
                .map(|state| (state, "THAWED"))
                .or_else(|| Some((file("cgroup.events")?, "frozen 0"))),
        };
        Group {
            name: name.to_owned(),
            shared,
            throttled,
            frozen,
            state,
        }
    }
}

impl Counter {
    /// Without a file if the kernel does not count that.
    fn new(file: Option<File>, key: &'static str, unit_ns: u64) -> Counter {
        let mut counter = Counter {
            file,
            key,
            unit_ns,
            last: 0,
        };
        match counter.now() {
            Some(now) => counter.last = now,
            None => counter.file = None,
        }
        counter
    }

    fn now(&self) -> Option<u64> {
        value(&read(self.file.as_ref()?)?, self.key)
    }

    /// Nanoseconds since the step before.
    fn step(&mut self) -> u64 {
        let now = self.now().unwrap_or(self.last);
        let since = now.saturating_sub(self.last);
        self.last = now;
        since * self.unit_ns
    }
}

fn value(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.strip_prefix(' ')?.trim().parse().ok()
}

/// proc_pid_mountinfo(5). The first mount of a hierarchy counts.
fn hierarchies(mountinfo: &str, view: &Path) -> Vec<Hierarchy> {
    let one = |line: &str| {
        let (before, after) = line.split_once(" - ")?;
        let fields: Vec<&str> = before.split(' ').collect();
        let mut kind = after.split(' ');
        let controllers = match kind.next()? {
            "cgroup2" => Vec::new(),
            "cgroup" => kind.nth(1)?.split(',').map(str::to_owned).collect(),
            _ => return None,
        };
        Some(Hierarchy {
            controllers,
            root: (*fields.get(3)?).to_owned(),
            directory: view.join(fields.get(4)?.trim_start_matches('/')),
        })
    };
    mountinfo.lines().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hierarchies_are_found_by_their_controllers() {
        let mountinfo = "\
            30 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
            31 25 0:27 /box /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 none rw\n\
            32 25 0:28 / /proc rw - proc proc rw\n";
        let found = hierarchies(mountinfo, Path::new("/v"));
        assert_eq!(found.len(), 2);
        assert!(found[0].has("cpu,cpuacct") && !found[0].has("") && !found[0].has("freezer"));
        let chain = found[1].chain("/box/a/b");
        let chain: Vec<_> = chain
            .iter()
            .map(|(directory, name)| (directory.to_str().unwrap(), name.as_str()))
            .collect();
        assert_eq!(
            chain,
            [
                ("/v/sys/fs/cgroup/a/b", "/box/a/b"),
                ("/v/sys/fs/cgroup/a", "/box/a")
            ]
        );
        assert!(found[1].chain("/elsewhere").is_empty());
        assert!(found[0].chain("/").is_empty());
    }

    #[test]
    fn a_counter_is_found_by_its_whole_name() {
        let text = "nr_throttled 3\nthrottled_usec 12\n";
        assert_eq!(value(text, "throttled_usec"), Some(12));
        assert_eq!(value(text, "throttled"), None);
    }
}
