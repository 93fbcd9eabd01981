//! Many clients at once, each with a socket in its own network namespace: one process, some threads.

mod place;
pub mod sink;
pub mod source;

use crate::protocol::failure::{Failure, during};
use crate::timing::clock;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde::Deserialize;
use std::os::fd::AsFd;

const MAX_MEMBERS: usize = 4096;
const MAX_THREADS: u16 = 64;
/// Sockets that one wait returns.
const EVENTS: usize = 256;
/// How often a thread that waits for its sockets looks whether the task is to end.
const LOOK_NS: u64 = 10_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    Udp,
    Tcp,
}

fn check_members(members: usize, threads: u16) -> Result<(), Failure> {
    if !(1..=MAX_MEMBERS).contains(&members) || !(1..=MAX_THREADS).contains(&threads) {
        return Err(Failure::new(
            format!("{members} members, {threads} threads"),
            "out of range",
            format!("give 1 to {MAX_MEMBERS} members and 1 to {MAX_THREADS} threads"),
        ));
    }
    allow_descriptors(4 * members as u64 + 256)
}

/// Each member needs a few: the soft limit is raised as far as the hard one permits.
fn allow_descriptors(needed: u64) -> Result<(), Failure> {
    let (soft, hard) =
        getrlimit(Resource::RLIMIT_NOFILE).map_err(during("read the limit of open files"))?;
    if soft >= needed {
        return Ok(());
    }
    if hard < needed {
        return Err(Failure::new(
            format!("{needed} open files"),
            format!("the limit of open files is {hard}"),
            "raise it (ulimit -Hn, LimitNOFILE of systemd), or use fewer clients",
        ));
    }
    setrlimit(Resource::RLIMIT_NOFILE, needed, hard)
        .map_err(during("raise the limit of open files"))
}

/// Deals what the members have to threads, each with its number.
fn deal<T>(members: Vec<T>, threads: u16) -> Vec<Vec<(usize, T)>> {
    let threads = usize::from(threads).min(members.len());
    let mut dealt: Vec<Vec<(usize, T)>> = (0..threads).map(|_| Vec::new()).collect();
    for (number, member) in members.into_iter().enumerate() {
        dealt[number % threads].push((number, member));
    }
    dealt
}

/// Sockets of one thread that become ready.
struct Waiting {
    epoll: Epoll,
    events: Vec<EpollEvent>,
}

impl Waiting {
    fn new() -> Result<Waiting, Failure> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(during("epoll"))?;
        Ok(Waiting {
            epoll,
            events: vec![EpollEvent::empty(); EVENTS],
        })
    }

    fn add(&self, socket: &impl AsFd, flags: EpollFlags, key: usize) -> Result<(), Failure> {
        self.epoll
            .add(socket, EpollEvent::new(flags, key as u64))
            .map_err(during("epoll: add a socket"))
    }

    fn change(&self, socket: &impl AsFd, flags: EpollFlags, key: usize) -> Result<(), Failure> {
        self.epoll
            .modify(socket, &mut EpollEvent::new(flags, key as u64))
            .map_err(during("epoll: change a socket"))
    }

    /// Keys of the sockets that are ready, at once if there are any.
    fn ready(&mut self, most_ns: u64) -> Vec<usize> {
        let ms = most_ns.min(LOOK_NS).div_ceil(1_000_000);
        let timeout = EpollTimeout::try_from(ms).unwrap_or(EpollTimeout::ZERO);
        // A signal ends the wait early.
        let count = self.epoll.wait(&mut self.events, timeout).unwrap_or(0);
        self.events[..count]
            .iter()
            .map(|event| event.data() as usize)
            .collect()
    }
}

/// Runs each lane in a thread of its own; the first failure counts.
fn in_threads<T: Send, R: Send>(
    lanes: Vec<T>,
    work: impl Fn(T) -> Result<R, Failure> + Sync,
) -> Result<Vec<R>, Failure> {
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = lanes
            .into_iter()
            .map(|lane| {
                scope.spawn(move || {
                    clock::use_exact_timers();
                    work(lane)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a lane does not panic"))
            .collect()
    })
}
