//! `culvert-wire cable`: a cable that lives as long as whoever started it wants it.

use std::io::{self, Write};
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use clap::Args;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;
use serde::Serialize;

use crate::cable::{Cable, Plan, Statistics};
use crate::chance::Probability;
use crate::endpoint::Endpoint;
use crate::failure::{Failure, Kind};
use crate::schedule::{Conditions, QueueLimit};
use crate::tap::MTU_RANGE;

/// A delay beyond this is a mistake in the unit: light needs 1.3 s to the moon.
const LONGEST_DELAY_NS: u64 = 60_000_000_000;

/// Be the cable between two nodes until SIGTERM, SIGINT or the end of standard input.
///
/// Prints JSON lines: `ready` when both devices are there (down, for their owner to bring up),
/// `statistics` at each interval, `end` with the last figures.
///
/// Example: culvert-wire cable --a /run/netns/a:u0 --b /run/netns/b:u0 --loss 0.01
#[derive(Debug, Args)]
pub struct CableArgs {
    /// One end, NETNS_PATH:DEVICE; the device is made, and must not be there yet
    #[arg(long)]
    a: Endpoint,
    /// The other end, NETNS_PATH:DEVICE
    #[arg(long)]
    b: Endpoint,
    /// Bytes of the longest IP packet
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u32)
        .range(i64::from(*MTU_RANGE.start())..=i64::from(*MTU_RANGE.end())))]
    mtu: u32,
    /// Bits a second of frames, in each direction; without it there is no limit
    #[arg(long)]
    rate_bps: Option<NonZeroU64>,
    /// Packets that may wait for the rate
    #[arg(long, default_value_t = 1000, conflicts_with = "queue_bytes",
        value_parser = clap::value_parser!(u64).range(1..))]
    queue_packets: u64,
    /// Bytes that may wait for the rate
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    queue_bytes: Option<u64>,
    /// Nanoseconds that each packet takes, in each direction
    #[arg(long, default_value_t = 0,
        value_parser = clap::value_parser!(u64).range(..=LONGEST_DELAY_NS))]
    delay_ns: u64,
    /// Probability that a packet is lost, each on its own
    #[arg(long, default_value = "0")]
    loss: Probability,
    /// Decides which packets are lost, together with their numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Milliseconds between two lines of statistics
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    interval_ms: u64,
}

impl CableArgs {
    fn plan(&self) -> Plan {
        let conditions = Conditions {
            rate_bps: self.rate_bps,
            queue: self
                .queue_bytes
                .map_or(QueueLimit::Packets(self.queue_packets), QueueLimit::Bytes),
            delay_ns: self.delay_ns,
            loss: self.loss,
            ..Conditions::default()
        };
        Plan {
            a: self.a.clone(),
            b: self.b.clone(),
            mtu: self.mtu,
            a_to_b: conditions,
            b_to_a: conditions,
            seed: self.seed,
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line {
    Ready {
        mtu: u32,
    },
    Statistics {
        elapsed_ns: u64,
        #[serde(flatten)]
        statistics: Statistics,
    },
    End {
        elapsed_ns: u64,
        reason: Reason,
        #[serde(flatten)]
        statistics: Statistics,
    },
}

/// Why a cable ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Reason {
    Signal,
    InputClosed,
    OutputClosed,
    Failed,
}

/// Run the command to its end.
pub fn run(args: &CableArgs) -> Result<(), Failure> {
    // Blocked before any thread starts, so that signals arrive here and nowhere else.
    let signals = signals().map_err(|errno| Failure::refused("signals", errno, "try again"))?;
    let mut cable = Cable::connect(&args.plan())?;
    let start = Instant::now();
    let reason = if print(&Line::Ready { mtu: args.mtu }) {
        serve(
            &mut cable,
            &signals,
            start,
            Duration::from_millis(args.interval_ms),
        )?
    } else {
        Reason::OutputClosed
    };
    let (statistics, result) = cable.disconnect();
    print(&Line::End {
        elapsed_ns: nanoseconds(start),
        reason,
        statistics,
    });
    result
}

fn signals() -> Result<SignalFd, Errno> {
    let mut set = SigSet::empty();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        set.add(signal);
    }
    set.thread_block()?;
    SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC)
}

/// Print statistics until there is a reason to end.
fn serve(
    cable: &mut Cable,
    signals: &SignalFd,
    start: Instant,
    interval: Duration,
) -> Result<Reason, Failure> {
    let input = io::stdin();
    let mut next = start + interval;
    loop {
        if let Some(reason) = wait(cable, signals, &input, next)? {
            return Ok(reason);
        }
        if Instant::now() >= next {
            let line = Line::Statistics {
                elapsed_ns: nanoseconds(start),
                statistics: cable.statistics(),
            };
            if !print(&line) {
                return Ok(Reason::OutputClosed);
            }
            // no burst of lines after the machine slept
            while next <= Instant::now() {
                next += interval;
            }
        }
    }
}

fn wait(
    cable: &Cable,
    signals: &SignalFd,
    input: &io::Stdin,
    until: Instant,
) -> Result<Option<Reason>, Failure> {
    let mut watched = [
        PollFd::new(cable.ended().as_fd(), PollFlags::POLLIN),
        PollFd::new(signals.as_fd(), PollFlags::POLLIN),
        PollFd::new(input.as_fd(), PollFlags::POLLIN),
    ];
    let left = TimeSpec::from(until.saturating_duration_since(Instant::now()));
    match ppoll(&mut watched, Some(left), None) {
        Ok(_) => {}
        Err(Errno::EINTR) => return Ok(None),
        Err(errno) => return Err(Failure::refused("waiting", errno, "try again")),
    }
    let seen = |index: usize| {
        watched[index]
            .revents()
            .is_some_and(|seen| !seen.is_empty())
    };
    if seen(0) {
        return Ok(Some(Reason::Failed));
    }
    if seen(1) {
        return Ok(Some(Reason::Signal));
    }
    // Nothing is to be said to a cable yet: what comes is read and forgotten.
    if seen(2) && matches!(nix::unistd::read(input, &mut [0; 4096]), Ok(0) | Err(_)) {
        return Ok(Some(Reason::InputClosed));
    }
    Ok(None)
}

/// Whether the line could be written.
fn print(line: &Line) -> bool {
    let write = || -> io::Result<()> {
        let mut output = io::stdout().lock();
        serde_json::to_writer(&mut output, line)?;
        output.write_all(b"\n")?;
        output.flush()
    };
    write().is_ok()
}

fn nanoseconds(start: Instant) -> u64 {
    start.elapsed().as_nanos() as u64
}

/// A failure of the command line itself has its code from clap, which is 2 as well.
pub fn exit_code(failure: &Failure) -> u8 {
    match failure.kind {
        kind @ (Kind::Failed | Kind::Usage | Kind::NotPossible) => kind as u8,
    }
}
