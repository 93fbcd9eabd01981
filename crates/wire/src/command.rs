//! `culvert-wire cable`: a cable that lives as long as whoever started it wants it.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;
use serde::Serialize;

use crate::asked::{Asked, AskedJitter, AskedLoss, Queue};
use crate::cable::{Cable, Plan, Statistics};
use crate::control::{self, Command, Lines};
use crate::endpoint::Endpoint;
use crate::failure::{Failure, Kind};
use crate::live;
use crate::quantity::{self, Rate, Share};
use crate::record::{Limits, Saved};
use crate::tap::{MTU_RANGE, Offloads};

/// Be the cable between two nodes until SIGTERM, SIGINT or the end of standard input.
///
/// On a terminal it shows what passes; elsewhere it prints JSON lines: `ready` when both devices
/// are there (down, for their owner to bring up), `statistics` at each interval, `end` with the last
/// figures. Standard input takes commands, one JSON object a line: see the README of crates/wire.
///
/// Example: culvert-wire cable --a /run/netns/a:u0 --b /run/netns/b:u0 --delay 25ms --loss 1%
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
    /// Let the nodes hand over and take super-packets; each packet is still decided on alone
    #[arg(long)]
    offloads: bool,
    /// In each direction, as 100Mbit/s, of frames; without it there is no limit
    #[arg(long)]
    rate: Option<Rate>,
    /// Packets that may wait for the rate [default: 1000]
    #[arg(long, conflicts_with = "queue_bytes")]
    queue_packets: Option<u64>,
    /// Bytes that may wait for the rate
    #[arg(long)]
    queue_bytes: Option<u64>,
    /// That each packet takes in each direction, as 25ms
    #[arg(long)]
    delay: Option<quantity::Duration>,
    /// Up to this is added to or taken from the delay, evenly, and order is kept; as 5ms
    #[arg(long)]
    jitter: Option<quantity::Duration>,
    /// Of the packets, each on its own, as 1%
    #[arg(long)]
    loss: Option<Share>,
    /// Conditions from a to b as a JSON object, instead of the options above
    #[arg(long, value_parser = conditions_text)]
    a_to_b: Option<Asked>,
    /// Conditions from b to a as a JSON object, instead of the options above
    #[arg(long, value_parser = conditions_text)]
    b_to_a: Option<Asked>,
    /// Decides about packets, together with their numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Record what arrives, and save it here as pcapng at the end
    #[arg(long)]
    record: Option<PathBuf>,
    /// Memory for the recording of each direction; the oldest packets make room
    #[arg(long, default_value_t = 64 << 20)]
    record_bytes: usize,
    /// Milliseconds between two lines of statistics
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    interval_ms: u64,
}

fn conditions_text(text: &str) -> Result<Asked, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

impl CableArgs {
    fn plan(&self) -> Result<Plan, Failure> {
        let both = self.for_both();
        let [a_to_b, b_to_a] =
            [&self.a_to_b, &self.b_to_a].map(|own| own.as_ref().unwrap_or(&both));
        Ok(Plan {
            a: self.a.clone(),
            b: self.b.clone(),
            mtu: self.mtu,
            offloads: if self.offloads {
                Offloads::SuperPackets
            } else {
                Offloads::Checksums
            },
            conditions: [a_to_b.conditions()?, b_to_a.conditions()?],
            seed: self.seed,
        })
    }

    fn for_both(&self) -> Asked {
        let queue = self.queue_packets.map(Queue::Packets);
        Asked {
            rate_bps: self.rate.map(|rate| rate.0),
            queue: queue.or(self.queue_bytes.map(Queue::Bytes)),
            delay_ns: self.delay.map_or(0, |delay| delay.0),
            jitter: self.jitter.map(|jitter| AskedJitter::Uniform {
                spread_ns: jitter.0,
            }),
            loss: self.loss.map(|loss| AskedLoss::Probability(loss.0)),
            ..Asked::default()
        }
    }

    fn recording(&self) -> Result<Option<Limits>, Failure> {
        let Some(path) = &self.record else {
            return Ok(None);
        };
        let limits = control::limits(self.record_bytes, 65_535).map_err(|why| {
            Failure::new(Kind::Usage, "--record-bytes", why, "choose another size")
        })?;
        // now, and not when all has been recorded
        match path
            .parent()
            .map(|parent| parent.as_os_str().is_empty() || parent.is_dir())
        {
            Some(true) => Ok(Some(limits)),
            _ => Err(Failure::new(
                Kind::Usage,
                format!("--record {}", path.display()),
                "there is no such directory",
                "make it, or choose another",
            )),
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
    /// A command was carried out.
    Done {
        elapsed_ns: u64,
        command: &'static str,
        #[serde(flatten)]
        saved: Option<Saved>,
    },
    /// A command was not; the cable goes on as it was.
    Refused {
        elapsed_ns: u64,
        what: String,
        why: String,
        remedy: &'static str,
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
    let plan = args.plan()?;
    let recording = args.recording()?;
    // Blocked before any thread starts, so that signals arrive here and nowhere else.
    let signals = signals().map_err(|errno| Failure::refused("signals", errno, "try again"))?;
    let cable = Cable::connect(plan)?;
    if let Some(limits) = recording {
        cable.record(limits);
    }
    let mut service = Service {
        cable,
        start: Instant::now(),
        live: io::stdout().is_terminal().then(|| Live::new(args)),
        lines: Lines::default(),
    };
    let ready = service.print(&Line::Ready { mtu: args.mtu });
    let reason = if ready {
        service.serve(&signals, Duration::from_millis(args.interval_ms))?
    } else {
        Reason::OutputClosed
    };
    service.end(reason, args.record.as_deref())
}

fn signals() -> Result<SignalFd, Errno> {
    let mut set = SigSet::empty();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        set.add(signal);
    }
    set.thread_block()?;
    SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC)
}

/// What a terminal shows.
struct Live {
    cable: String,
    last: Option<(Instant, Statistics)>,
}

impl Live {
    fn new(args: &CableArgs) -> Self {
        let end = |end: &Endpoint| format!("{}:{}", end.netns.display(), end.device.as_str());
        Self {
            cable: format!("{} - {}", end(&args.a), end(&args.b)),
            last: None,
        }
    }

    fn text(&mut self, line: &Line) -> String {
        match line {
            Line::Ready { .. } => format!("{}: ready; Ctrl-C ends it\n", self.cable),
            Line::Statistics { statistics, .. } => {
                let now = Instant::now();
                let before = self.last.replace((now, *statistics));
                let Some((then, before)) = before else {
                    let zero = Duration::from_secs(1);
                    return live::lines(statistics, statistics, zero.as_secs_f64());
                };
                // over the two lines of the last time
                let lines = live::lines(&before, statistics, (now - then).as_secs_f64());
                format!("\x1b[2F\x1b[J{lines}")
            }
            Line::Done { command, .. } => format!("{command}: done\n\n\n"),
            Line::Refused {
                what, why, remedy, ..
            } => format!("{what}: {why}; {remedy}\n\n\n"),
            Line::End {
                statistics,
                elapsed_ns,
                ..
            } => {
                let seconds = *elapsed_ns as f64 / 1e9;
                let zero = Statistics {
                    a_to_b: Default::default(),
                    b_to_a: Default::default(),
                };
                format!(
                    "in {seconds:.1} s:\n{}",
                    live::lines(&zero, statistics, seconds)
                )
            }
        }
    }
}

struct Service {
    cable: Cable,
    start: Instant,
    live: Option<Live>,
    lines: Lines,
}

impl Service {
    /// Print statistics and obey commands until there is a reason to end.
    fn serve(&mut self, signals: &SignalFd, interval: Duration) -> Result<Reason, Failure> {
        let input = io::stdin();
        let mut next = self.start + interval;
        loop {
            if let Some(reason) = self.wait(signals, &input, next)? {
                return Ok(reason);
            }
            if Instant::now() >= next {
                if !self.print_statistics() {
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
        &mut self,
        signals: &SignalFd,
        input: &io::Stdin,
        until: Instant,
    ) -> Result<Option<Reason>, Failure> {
        let mut watched = [
            PollFd::new(self.cable.ended().as_fd(), PollFlags::POLLIN),
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
        if seen(2) {
            let mut piece = [0; 65_536];
            match nix::unistd::read(input, &mut piece) {
                Err(Errno::EINTR | Errno::EAGAIN) => {}
                Ok(0) | Err(_) => return Ok(Some(Reason::InputClosed)),
                Ok(bytes) => {
                    for command in self.lines.feed(&piece[..bytes]) {
                        if !self.obey(command) {
                            return Ok(Some(Reason::OutputClosed));
                        }
                    }
                }
            }
        }
        Ok(None)
    }

    /// Carry out a command, or say why not; whether that could be printed.
    fn obey(&mut self, command: Result<Command, String>) -> bool {
        let command = match command {
            Ok(command) => command,
            Err(why) => {
                let remedy = "see the commands in the README of crates/wire";
                return self.refuse(Failure::new(Kind::Usage, "command", why, remedy));
            }
        };
        match command {
            Command::Statistics {} => self.print_statistics(),
            Command::Set {
                direction,
                conditions,
            } => match conditions.conditions() {
                Err(failure) => self.refuse(failure),
                Ok(conditions) => {
                    for from in direction.from_ends() {
                        self.cable.change(*from, conditions.clone());
                    }
                    self.done("set", None)
                }
            },
            Command::Record {
                ring_bytes,
                packet_bytes,
            } => match control::limits(ring_bytes, packet_bytes) {
                Err(why) => {
                    let remedy = "choose another size";
                    self.refuse(Failure::new(Kind::Usage, "record", why, remedy))
                }
                Ok(limits) => {
                    self.cable.record(limits);
                    self.done("record", None)
                }
            },
            Command::StopRecording {} => {
                self.cable.stop_recording();
                self.done("stop_recording", None)
            }
            Command::Save { path } => match self.cable.save(&path) {
                Ok(saved) => self.done("save", Some(saved)),
                Err(error) => self.refuse(cannot_save(&path, &error)),
            },
        }
    }

    fn done(&mut self, command: &'static str, saved: Option<Saved>) -> bool {
        let elapsed_ns = self.elapsed_ns();
        self.print(&Line::Done {
            elapsed_ns,
            command,
            saved,
        })
    }

    fn refuse(&mut self, failure: Failure) -> bool {
        let Failure {
            what, why, remedy, ..
        } = failure;
        let elapsed_ns = self.elapsed_ns();
        self.print(&Line::Refused {
            elapsed_ns,
            what,
            why,
            remedy,
        })
    }

    fn print_statistics(&mut self) -> bool {
        let line = Line::Statistics {
            elapsed_ns: self.elapsed_ns(),
            statistics: self.cable.statistics(),
        };
        self.print(&line)
    }

    /// Whether the line could be written.
    fn print(&mut self, line: &Line) -> bool {
        let mut write = || -> io::Result<()> {
            let mut output = io::stdout().lock();
            match &mut self.live {
                Some(live) => output.write_all(live.text(line).as_bytes())?,
                None => {
                    serde_json::to_writer(&mut output, line)?;
                    output.write_all(b"\n")?;
                }
            }
            output.flush()
        };
        write().is_ok()
    }

    fn elapsed_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn end(mut self, reason: Reason, record: Option<&std::path::Path>) -> Result<(), Failure> {
        let elapsed_ns = self.elapsed_ns();
        self.cable.stop_recording();
        let saved = record.map_or(Ok(()), |path| {
            let result = self.cable.save(path);
            result.map(drop).map_err(|error| cannot_save(path, &error))
        });
        let stopped = self.cable.stop();
        let statistics = self.cable.statistics();
        self.print(&Line::End {
            elapsed_ns,
            reason,
            statistics,
        });
        stopped.and(saved)
    }
}

fn cannot_save(path: &std::path::Path, error: &io::Error) -> Failure {
    Failure::new(
        Kind::Failed,
        format!("recording {}", path.display()),
        error,
        "choose a path that can be written, with room",
    )
}

/// A failure of the command line itself has its code from clap, which is 2 as well.
pub fn exit_code(failure: &Failure) -> u8 {
    match failure.kind {
        kind @ (Kind::Failed | Kind::Usage | Kind::NotPossible) => kind as u8,
    }
}
