//! The owner of the cables, which executes commands from standard input.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::signalfd::SignalFd;
use nix::sys::time::TimeSpec;

use crate::cable::Cable;
use crate::command::control::{Command, Lines};
use crate::command::line::{Line, Reason};
use crate::failure::{Failure, Kind};

/// The name of the cable that the program was started with.
pub const ONLY: &str = "";

pub struct Service {
    pub cables: BTreeMap<String, Cable>,
    start: Instant,
    lines: Lines,
}

impl Service {
    pub fn new(cables: BTreeMap<String, Cable>) -> Self {
        Self {
            cables,
            start: Instant::now(),
            lines: Lines::default(),
        }
    }

    /// Print statistics (at each interval, if there is one) and execute commands until the end.
    pub fn serve(
        &mut self,
        signals: &SignalFd,
        interval: Option<Duration>,
        mtu: Option<u32>,
    ) -> Result<Reason, Failure> {
        if !print(&Line::Ready { mtu }) {
            return Ok(Reason::OutputClosed);
        }
        let input = io::stdin();
        let mut next = interval.map(|interval| self.start + interval);
        loop {
            if let Some(reason) = self.wait(signals, &input, next)? {
                return Ok(reason);
            }
            let (Some(interval), Some(due)) = (interval, next.as_mut()) else {
                continue;
            };
            if Instant::now() < *due {
                continue;
            }
            // no burst of lines after the machine was suspended
            while *due <= Instant::now() {
                *due += interval;
            }
            let names: Vec<String> = self.cables.keys().cloned().collect();
            if !names.into_iter().all(|name| self.print_statistics(&name)) {
                return Ok(Reason::OutputClosed);
            }
        }
    }

    fn wait(
        &mut self,
        signals: &SignalFd,
        input: &io::Stdin,
        until: Option<Instant>,
    ) -> Result<Option<Reason>, Failure> {
        let mut watched = vec![
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(input.as_fd(), PollFlags::POLLIN),
        ];
        let ended = |cable: &'_ Cable| cable.ended().requested();
        watched.extend(
            self.cables
                .values()
                .map(|cable| PollFd::new(cable.ended().as_fd(), PollFlags::POLLIN)),
        );
        let left =
            until.map(|until| TimeSpec::from(until.saturating_duration_since(Instant::now())));
        match ppoll(&mut watched, left, None) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(None),
            Err(errno) => return Err(Failure::refused("waiting", errno, "try again")),
        }
        let seen = |index: usize| {
            watched[index]
                .revents()
                .is_some_and(|seen| !seen.is_empty())
        };
        let (signal, said) = (seen(0), seen(1));
        if self.cables.values().any(ended) {
            return Ok(Some(Reason::Failed));
        }
        if signal {
            return Ok(Some(Reason::Signal));
        }
        if said {
            return Ok(self.listen(input));
        }
        Ok(None)
    }

    fn listen(&mut self, input: &io::Stdin) -> Option<Reason> {
        let mut piece = [0; 65_536];
        match nix::unistd::read(input, &mut piece) {
            Err(Errno::EINTR | Errno::EAGAIN) => None,
            Ok(0) | Err(_) => Some(Reason::InputClosed),
            Ok(bytes) => {
                let commands = self.lines.feed(&piece[..bytes]);
                let heard = commands.into_iter().all(|command| self.obey(command));
                (!heard).then_some(Reason::OutputClosed)
            }
        }
    }

    /// Execute a command, or print why it is refused; returns whether the line could be written.
    fn obey(&mut self, command: Result<Command, String>) -> bool {
        let done = match command {
            Err(why) => {
                let remedy = "see the commands in the README of crates/wire";
                Err(Failure::new(Kind::Usage, "command", why, remedy))
            }
            Ok(Command::Statistics { cable }) => match self.name(cable) {
                Ok(name) => return self.print_statistics(&name),
                Err(failure) => Err(failure),
            },
            Ok(command) => self.carry_out(command),
        };
        let elapsed_ns = self.elapsed_ns();
        let line = match done {
            Ok(command) => Line::Done {
                elapsed_ns,
                command,
            },
            Err(Failure {
                what, why, remedy, ..
            }) => Line::Refused {
                elapsed_ns,
                what,
                why,
                remedy,
            },
        };
        print(&line)
    }

    fn carry_out(&mut self, command: Command) -> Result<&'static str, Failure> {
        match command {
            Command::Statistics { .. } => Ok("statistics"),
            Command::Connect(wanted) => {
                if self.cables.contains_key(&wanted.cable) {
                    let what = format!("cable {:?}", wanted.cable);
                    let why = "there is one of that name";
                    return Err(Failure::new(Kind::Usage, what, why, "choose another name"));
                }
                let cable = Cable::connect(wanted.plan()?)?;
                self.cables.insert(wanted.cable, cable);
                Ok("connect")
            }
            Command::Disconnect { cable } => {
                let name = self.name(cable)?;
                let stopped = self.cables.remove(&name).map(|mut cable| cable.stop());
                stopped.transpose().map(|_| "disconnect")
            }
            Command::Set {
                cable,
                direction,
                conditions,
            } => {
                let conditions = conditions.conditions()?;
                let cable = self.cable(cable)?;
                for from in direction.from_ends() {
                    cable.change(*from, conditions.clone());
                }
                Ok("set")
            }
        }
    }

    /// The cable of a command: a single cable needs no name.
    fn name(&self, given: Option<String>) -> Result<String, Failure> {
        let remedy = "name one that is connected";
        let wrong = |what: String, why: &str| Err(Failure::new(Kind::Usage, what, why, remedy));
        match given {
            Some(name) if self.cables.contains_key(&name) => Ok(name),
            Some(name) => wrong(format!("cable {name:?}"), "there is none of that name"),
            None => match self.cables.keys().next() {
                Some(name) if self.cables.len() == 1 => Ok(name.clone()),
                Some(_) => wrong("cable".to_string(), "there are several"),
                None => wrong("cable".to_string(), "there is none"),
            },
        }
    }

    fn cable(&mut self, given: Option<String>) -> Result<&mut Cable, Failure> {
        let name = self.name(given)?;
        self.cables.get_mut(&name).ok_or_else(|| {
            let why = "there is none of that name";
            Failure::new(Kind::Usage, "cable", why, "name one that is connected")
        })
    }

    fn print_statistics(&mut self, name: &str) -> bool {
        let elapsed_ns = self.elapsed_ns();
        let Some(cable) = self.cables.get_mut(name) else {
            return true;
        };
        let line = Line::Statistics {
            elapsed_ns,
            cable: name.to_string(),
            statistics: cable.statistics(),
        };
        print(&line)
    }

    fn elapsed_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// Stop all cables, and print the last line.
    pub fn end(mut self, reason: Reason) -> Result<(), Failure> {
        let elapsed_ns = self.elapsed_ns();
        let mut stopped = Ok(());
        let mut cables = BTreeMap::new();
        for (name, cable) in &mut self.cables {
            stopped = stopped.and(cable.stop());
            cables.insert(name.clone(), cable.statistics());
        }
        let statistics = cables.remove(ONLY);
        print(&Line::End {
            elapsed_ns,
            reason,
            statistics,
            cables,
        });
        stopped
    }
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
