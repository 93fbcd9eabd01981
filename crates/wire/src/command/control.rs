//! Commands to a running cable: one JSON object a line on standard input.

use serde::Deserialize;

use crate::cable::Plan;
use crate::command::requested::Requested;
use crate::device::endpoint::Endpoint;
use crate::device::tap::{MTU_RANGE, Offloads};
use crate::failure::{Failure, Kind};

/// The longest line; a list of lost packets may be long.
pub const LONGEST_LINE_BYTES: usize = 16 << 20;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Another cable.
    Connect(Box<Connect>),
    /// End a cable, and with it its devices.
    Disconnect {
        #[serde(default)]
        cable: Option<String>,
    },
    /// New conditions, which replace all earlier ones: missing impairments are switched off.
    Set {
        #[serde(default)]
        cable: Option<String>,
        #[serde(default)]
        direction: Which,
        conditions: Box<Requested>,
    },
    /// Statistics now, and not only at the next interval.
    Statistics {
        #[serde(default)]
        cable: Option<String>,
    },
}

/// A cable that a command requests.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connect {
    /// Its name in other commands.
    pub cable: String,
    pub a: Endpoint,
    pub b: Endpoint,
    #[serde(default = "default_mtu")]
    pub mtu: u32,
    #[serde(default)]
    pub offloads: bool,
    #[serde(default)]
    pub a_to_b: Requested,
    #[serde(default)]
    pub b_to_a: Requested,
    #[serde(default = "default_seed")]
    pub seed: u64,
}

impl Connect {
    /// The settings of the cable, with its files read.
    pub fn plan(&self) -> Result<Plan, Failure> {
        if !MTU_RANGE.contains(&self.mtu) {
            let why = format!(
                "{} is not from {} to {}",
                self.mtu,
                MTU_RANGE.start(),
                MTU_RANGE.end()
            );
            return Err(Failure::new(Kind::Usage, "mtu", why, "choose 1500"));
        }
        Ok(Plan {
            a: self.a.clone(),
            b: self.b.clone(),
            mtu: self.mtu,
            offloads: Offloads::passed(self.offloads),
            conditions: [self.a_to_b.conditions()?, self.b_to_a.conditions()?],
            seed: self.seed,
        })
    }
}

fn default_mtu() -> u32 {
    1500
}

fn default_seed() -> u64 {
    1
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    #[default]
    Both,
    AToB,
    BToA,
}

impl Which {
    /// The ends that packets come from: 0 is a, 1 is b.
    pub fn from_ends(self) -> &'static [usize] {
        match self {
            Self::Both => &[0, 1],
            Self::AToB => &[0],
            Self::BToA => &[1],
        }
    }
}

/// Lines from pieces of input.
#[derive(Debug, Default)]
pub struct Lines {
    pending: Vec<u8>,
    /// Whether the rest of a line that was too long is being skipped.
    skipping: bool,
}

impl Lines {
    /// Add a piece; returns the lines that are complete now, each a command or an error.
    pub fn feed(&mut self, piece: &[u8]) -> Vec<Result<Command, String>> {
        let mut commands = Vec::new();
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = match part.split_last() {
                Some((b'\n', text)) => (text, true),
                _ => (part, false),
            };
            if self.pending.len() + text.len() > LONGEST_LINE_BYTES {
                self.pending.clear();
                self.skipping = true;
            }
            if !self.skipping {
                self.pending.extend_from_slice(text);
            }
            if !ends {
                continue;
            }
            let line = std::mem::take(&mut self.pending);
            if std::mem::take(&mut self.skipping) {
                commands.push(Err("the line is longer than 16 MiB".to_string()));
            } else if !line.trim_ascii().is_empty() {
                commands.push(serde_json::from_slice(&line).map_err(|error| error.to_string()));
            }
        }
        commands
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn commands() {
        let mut lines = Lines::default();
        let commands = lines.feed(
            b"{\"command\": \"set\", \"direction\": \"a_to_b\", \"conditions\": {\"delay_ns\": 5}}\n\
              \n{\"command\": \"statistics\"}\nnonsense\n{\"command\": \"dance\"}\n",
        );
        assert_eq!(commands.len(), 4);
        let requested = Requested {
            delay_ns: 5,
            ..Requested::default()
        };
        let set = Command::Set {
            cable: None,
            direction: Which::AToB,
            conditions: Box::new(requested),
        };
        assert_eq!(commands[0], Ok(set));
        assert_eq!(commands[1], Ok(Command::Statistics { cable: None }));
        assert!(commands[2].is_err());
        let why = commands[3].clone().expect_err("no such command");
        assert!(why.contains("unknown variant `dance`"), "{why}");
    }

    #[test]
    fn a_cable_is_asked_for() {
        let mut lines = Lines::default();
        let commands = lines.feed(
            b"{\"command\": \"connect\", \"cable\": \"x\", \"a\": \"/n/a:u0\", \"b\": \"/n/b:u0\"}\n\
              {\"command\": \"connect\", \"cable\": \"x\", \"a\": \"a\", \"b\": \"/n/b:u0\"}\n\
              {\"command\": \"connect\", \"cable\": \"x\", \"a\": \"/n/a:u0\", \"b\": \"/n/b:u0\", \"mtu\": 5}\n",
        );
        let Ok(Command::Connect(wanted)) = &commands[0] else {
            panic!("{commands:?}")
        };
        assert!(
            wanted
                .plan()
                .is_ok_and(|plan| plan.mtu == 1500 && plan.seed == 1)
        );
        let why = commands[1].clone().expect_err("no namespace");
        assert!(why.contains("NETNS:DEVICE"), "{why}");
        let Ok(Command::Connect(wanted)) = &commands[2] else {
            panic!("{commands:?}")
        };
        let failure = wanted.plan().expect_err("too small");
        assert_eq!(failure.what, "mtu");
    }

    #[test]
    fn a_line_without_end_is_not_kept() {
        let mut lines = Lines::default();
        for _ in 0..40 {
            assert!(lines.feed(&vec![b'x'; 1 << 20]).is_empty());
            assert!(lines.pending.len() <= LONGEST_LINE_BYTES);
        }
        let commands = lines.feed(b"\n{\"command\": \"statistics\"}\n");
        assert!(commands[0].is_err());
        assert_eq!(commands[1], Ok(Command::Statistics { cable: None }));
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter_and_no_bytes_panic(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'\n')], 0..200),
            at in any::<prop::sample::Index>(),
        ) {
            let at = at.index(bytes.len() + 1);
            let whole = Lines::default().feed(&bytes);
            let mut lines = Lines::default();
            let mut parts = lines.feed(&bytes[..at]);
            parts.extend(lines.feed(&bytes[at..]));
            prop_assert_eq!(whole, parts);
        }
    }
}
