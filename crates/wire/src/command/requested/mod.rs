//! Requested conditions of one direction, in JSON, with units in the names.
//!
//! `{"rate_bps": 100000000, "delay_ns": 25000000, "loss": {"probability": 0.01}}`

mod files;

#[cfg(test)]
mod tests;

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use files::delays;

use crate::failure::{Failure, Kind};
use crate::schedule::chance::Probability;
use crate::schedule::codel::Codel;
use crate::schedule::conditions::{Blackout, Capacity, Conditions, Filter, QueueLimit, Unit};
use crate::schedule::gate::SLACK;
use crate::schedule::jitter::Jitter;
use crate::schedule::loss::{GilbertElliott, Loss};
use crate::schedule::trace::Trace;

/// The longest valid delay; a longer one is probably a mistake in the unit.
pub const LONGEST_DELAY_NS: u64 = 60_000_000_000;
/// A day.
const LONGEST_BLACKOUT_NS: u64 = 86_400_000_000_000;
pub const RATES_BPS: std::ops::RangeInclusive<u64> = 1_000..=1_000_000_000_000;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Requested {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_bps: Option<u64>,
    /// A file in mahimahi's format, instead of a rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<PathBuf>,
    pub overhead_bytes: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// Packets that the link holds at most, those that wait for their delay included: netem's limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_packets: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codel: Option<RequestedCodel>,
    pub delay_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<RequestedJitter>,
    /// All packets in a period of this length get one draw of the jitter; 0: each packet its own.
    #[serde(skip_serializing_if = "is_zero")]
    pub jitter_hold_ns: u64,
    /// Jitter may change the order of packets.
    pub jitter_reorders: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<RequestedLoss>,
    pub reorder: f64,
    pub duplicate: f64,
    pub corrupt: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blackout: Option<RequestedBlackout>,
    pub drop_udp: bool,
    pub drop_fragments: bool,
    /// Bytes of the IP packet: this size and above never passes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drop_size_and_above: Option<u32>,
    /// Decide about super-packets as a whole, as netem does; only to show the effect of this.
    pub per_super_packet: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight_limit_bytes: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    Packets(u64),
    Bytes(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RequestedCodel {
    pub target_ns: u64,
    pub interval_ns: u64,
}

impl Default for RequestedCodel {
    fn default() -> Self {
        let Codel {
            target_ns,
            interval_ns,
        } = Codel::default();
        Self {
            target_ns,
            interval_ns,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "distribution", rename_all = "snake_case", deny_unknown_fields)]
pub enum RequestedJitter {
    Uniform {
        spread_ns: u64,
    },
    Normal {
        spread_ns: u64,
    },
    Pareto {
        spread_ns: u64,
    },
    /// A file with a number of milliseconds on each line, such as ping prints.
    Empirical {
        file: PathBuf,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestedLoss {
    Probability(f64),
    GilbertElliott(AskedGilbertElliott),
    /// Lose exactly these packets; packets of a direction are numbered from 0.
    Packets(Vec<u64>),
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskedGilbertElliott {
    pub to_bad: f64,
    pub to_good: f64,
    #[serde(default)]
    pub loss_in_good: f64,
    #[serde(default = "certain")]
    pub loss_in_bad: f64,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

fn certain() -> f64 {
    1.0
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestedBlackout {
    /// From when the conditions take effect.
    #[serde(default)]
    pub after_ns: u64,
    pub for_ns: u64,
}

impl Requested {
    /// Read and check it, with the files that it names.
    pub fn conditions(&self) -> Result<Conditions, Failure> {
        let default = Conditions::default();
        if self.reorder > 0.0 && self.delay_ns == 0 {
            return Err(wrong(
                "reorder",
                "there is no delay that a packet could skip",
                "add a delay",
            ));
        }
        if self.codel.is_some() && self.rate_bps.is_none() && self.trace.is_none() {
            return Err(wrong(
                "codel",
                "a link without a rate has no queue",
                "add a rate or a trace",
            ));
        }
        Ok(Conditions {
            capacity: self.capacity()?,
            overhead_bytes: self.overhead_bytes,
            queue: self.queue()?.unwrap_or(default.queue),
            limit_packets: self
                .limit_packets
                .map(|packets| within("limit_packets", packets, 1..=1 << 32))
                .transpose()?,
            codel: self.codel()?,
            delay_ns: within("delay_ns", self.delay_ns, 0..=LONGEST_DELAY_NS)?,
            jitter: self.jitter()?,
            jitter_hold_ns: within("jitter_hold_ns", self.jitter_hold_ns, 0..=LONGEST_DELAY_NS)?,
            keep_order: !self.jitter_reorders,
            loss: self.loss()?,
            reorder: probability("reorder", self.reorder)?,
            duplicate: probability("duplicate", self.duplicate)?,
            corrupt: probability("corrupt", self.corrupt)?,
            blackout: self.blackout()?,
            filter: Filter {
                udp: self.drop_udp,
                fragments: self.drop_fragments,
                size_and_above: self.drop_size_and_above,
            },
            unit: if self.per_super_packet {
                Unit::SuperPacket
            } else {
                Unit::WirePacket
            },
            in_flight_limit_bytes: match self.in_flight_limit_bytes {
                None => default.in_flight_limit_bytes,
                Some(bytes) => within("in_flight_limit_bytes", bytes, 1 << 16..=1 << 40)?,
            },
        })
    }

    fn capacity(&self) -> Result<Capacity, Failure> {
        match (self.rate_bps, &self.trace) {
            (Some(_), Some(_)) => Err(wrong(
                "rate_bps",
                "there is a trace as well",
                "use one of them",
            )),
            (None, None) => Ok(Capacity::Unlimited),
            (Some(rate), None) => {
                let rate = within("rate_bps", rate, RATES_BPS)?;
                let kept = rate - rate / SLACK;
                Ok(NonZeroU64::new(kept).map_or(Capacity::Unlimited, Capacity::Rate))
            }
            (None, Some(path)) => {
                let what = || format!("trace {}", path.display());
                let trace = Trace::parse(&files::read(path, &what())?).map_err(|why| {
                    wrong(
                        what(),
                        why,
                        "each line is a whole number of milliseconds, see mm-link(1)",
                    )
                })?;
                Ok(Capacity::Trace(Arc::new(trace)))
            }
        }
    }

    fn queue(&self) -> Result<Option<QueueLimit>, Failure> {
        Ok(match self.queue {
            None => None,
            Some(Queue::Packets(packets)) => Some(QueueLimit::Packets(within(
                "queue.packets",
                packets,
                1..=1 << 32,
            )?)),
            Some(Queue::Bytes(bytes)) => Some(QueueLimit::Bytes(within(
                "queue.bytes",
                bytes,
                1..=1 << 40,
            )?)),
        })
    }

    fn codel(&self) -> Result<Option<Codel>, Failure> {
        let Some(RequestedCodel {
            target_ns,
            interval_ns,
        }) = self.codel
        else {
            return Ok(None);
        };
        Ok(Some(Codel {
            target_ns: within("codel.target_ns", target_ns, 1..=LONGEST_DELAY_NS)?,
            interval_ns: within("codel.interval_ns", interval_ns, 1..=LONGEST_DELAY_NS)?,
        }))
    }

    fn jitter(&self) -> Result<Option<Jitter>, Failure> {
        let spread = |ns: u64| within("jitter.spread_ns", ns, 0..=LONGEST_DELAY_NS);
        Ok(Some(match &self.jitter {
            None => return Ok(None),
            Some(RequestedJitter::Uniform { spread_ns }) => Jitter::Uniform {
                spread_ns: spread(*spread_ns)?,
            },
            Some(RequestedJitter::Normal { spread_ns }) => Jitter::Normal {
                spread_ns: spread(*spread_ns)?,
            },
            Some(RequestedJitter::Pareto { spread_ns }) => Jitter::Pareto {
                spread_ns: spread(*spread_ns)?,
            },
            Some(RequestedJitter::Empirical { file }) => {
                let what = format!("delays {}", file.display());
                let values = delays(&files::read(file, &what)?).map_err(|why| {
                    wrong(
                        &what,
                        why,
                        "each line is a number of milliseconds from 0 to 60000",
                    )
                })?;
                Jitter::Empirical(values)
            }
        }))
    }

    fn loss(&self) -> Result<Loss, Failure> {
        Ok(match &self.loss {
            None => Loss::Never,
            Some(RequestedLoss::Probability(value)) => match probability("loss", *value)? {
                Probability::NEVER => Loss::Never,
                probability => Loss::Independent(probability),
            },
            Some(RequestedLoss::GilbertElliott(model)) => Loss::GilbertElliott(GilbertElliott {
                to_bad: probability("loss.to_bad", model.to_bad)?,
                to_good: probability("loss.to_good", model.to_good)?,
                loss_in_good: probability("loss.loss_in_good", model.loss_in_good)?,
                loss_in_bad: probability("loss.loss_in_bad", model.loss_in_bad)?,
            }),
            Some(RequestedLoss::Packets(numbers)) => {
                let mut numbers = numbers.clone();
                numbers.sort_unstable();
                numbers.dedup();
                Loss::Listed(numbers.into())
            }
        })
    }

    fn blackout(&self) -> Result<Option<Blackout>, Failure> {
        let Some(RequestedBlackout { after_ns, for_ns }) = self.blackout else {
            return Ok(None);
        };
        Ok(Some(Blackout {
            after_ns: within("blackout.after_ns", after_ns, 0..=LONGEST_BLACKOUT_NS)?,
            for_ns: within("blackout.for_ns", for_ns, 1..=LONGEST_BLACKOUT_NS)?,
        }))
    }
}

fn probability(name: &str, value: f64) -> Result<Probability, Failure> {
    Probability::new(value).ok_or_else(|| {
        wrong(
            name,
            format!("{value} is no probability"),
            "it is a number from 0 to 1",
        )
    })
}

fn within(name: &str, value: u64, range: std::ops::RangeInclusive<u64>) -> Result<u64, Failure> {
    if range.contains(&value) {
        return Ok(value);
    }
    let why = format!("{value} is not from {} to {}", range.start(), range.end());
    Err(wrong(name, why, "check its unit"))
}

fn wrong(
    what: impl std::fmt::Display,
    why: impl std::fmt::Display,
    remedy: &'static str,
) -> Failure {
    Failure::new(Kind::Usage, what, why, remedy)
}
