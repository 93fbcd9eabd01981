//! The options of `culvert-wire cable`: one cable, by hand.

use clap::Args;

use crate::cable::Plan;
use crate::command::quantity::{self, Rate, Share};
use crate::command::requested::{Queue, Requested, RequestedJitter, RequestedLoss};
use crate::device::endpoint::Endpoint;
use crate::device::tap::{MTU_RANGE, Offloads};
use crate::failure::Failure;

/// Emulate the link between two nodes until SIGTERM, SIGINT or the end of standard input.
///
/// It prints JSON lines: `ready` when both devices exist (down, for their owner to bring up),
/// `statistics` at each interval, `end` with the last figures. It reads commands from standard input, one JSON object a line: see the README of
/// crates/wire.
///
/// Example: culvert-wire cable --a left:u0 --b right:u0 --delay 25ms --loss 1%
#[derive(Debug, Args)]
pub struct CableArgs {
    /// One end, NETNS:DEVICE (a path, or a name of ip netns); the device is created and must not exist
    #[arg(long)]
    pub a: Endpoint,
    /// The other end, NETNS:DEVICE
    #[arg(long)]
    pub b: Endpoint,
    /// Bytes of the longest IP packet
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u32)
        .range(i64::from(*MTU_RANGE.start())..=i64::from(*MTU_RANGE.end())))]
    pub mtu: u32,
    /// Let the nodes send and receive super-packets; impairments still apply to each packet
    #[arg(long)]
    offloads: bool,
    /// Rate of frames in each direction, as 100Mbit/s; without it there is no limit
    #[arg(long)]
    rate: Option<Rate>,
    /// Packets that may wait for the rate [default: 1000]
    #[arg(long, conflicts_with = "queue_bytes")]
    queue_packets: Option<u64>,
    /// Bytes that may wait for the rate
    #[arg(long)]
    queue_bytes: Option<u64>,
    /// Packets that the link holds at most, delayed ones included, as netem's limit
    #[arg(long)]
    limit_packets: Option<u64>,
    /// Delay of each packet in each direction, as 25ms
    #[arg(long)]
    delay: Option<quantity::Duration>,
    /// Largest random change of the delay, uniform in both directions, in order; as 5ms
    #[arg(long)]
    jitter: Option<quantity::Duration>,
    /// Share of packets that are lost, independently of each other, as 1%
    #[arg(long)]
    loss: Option<Share>,
    /// Conditions from a to b as a JSON object, instead of the options above
    #[arg(long, value_parser = conditions_text)]
    a_to_b: Option<Requested>,
    /// Conditions from b to a as a JSON object, instead of the options above
    #[arg(long, value_parser = conditions_text)]
    b_to_a: Option<Requested>,
    /// Seed of the random draws for packets
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Milliseconds between two lines of statistics
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub interval_ms: u64,
}

fn conditions_text(text: &str) -> Result<Requested, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

impl CableArgs {
    pub fn plan(&self) -> Result<Plan, Failure> {
        let both = self.for_both();
        let [a_to_b, b_to_a] =
            [&self.a_to_b, &self.b_to_a].map(|own| own.as_ref().unwrap_or(&both));
        Ok(Plan {
            a: self.a.clone(),
            b: self.b.clone(),
            mtu: self.mtu,
            offloads: Offloads::passed(self.offloads),
            conditions: [a_to_b.conditions()?, b_to_a.conditions()?],
            seed: self.seed,
        })
    }

    fn for_both(&self) -> Requested {
        let queue = self.queue_packets.map(Queue::Packets);
        Requested {
            rate_bps: self.rate.map(|rate| rate.0),
            queue: queue.or(self.queue_bytes.map(Queue::Bytes)),
            limit_packets: self.limit_packets,
            delay_ns: self.delay.map_or(0, |delay| delay.0),
            jitter: self.jitter.map(|jitter| RequestedJitter::Uniform {
                spread_ns: jitter.0,
            }),
            loss: self.loss.map(|loss| RequestedLoss::Probability(loss.0)),
            ..Requested::default()
        }
    }
}
