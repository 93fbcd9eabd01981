//! The conditions of one direction of a link.

use std::num::NonZeroU64;
use std::sync::Arc;

use crate::schedule::chance::Probability;
use crate::schedule::codel::Codel;
use crate::schedule::jitter::Jitter;
use crate::schedule::loss::Loss;
use crate::schedule::trace::Trace;

/// How fast the link takes packets.
#[derive(Debug, Clone, PartialEq)]
pub enum Capacity {
    Unlimited,
    /// Bits a second of frames (Ethernet header included, as tbf counts).
    Rate(NonZeroU64),
    /// As fast as a real link was when it was recorded.
    Trace(Arc<Trace>),
}

/// The limit of the queue; the packet that is being serialised counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueLimit {
    Packets(u64),
    Bytes(u64),
}

/// A time in which no packet passes, counted from when the conditions take effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blackout {
    pub after_ns: u64,
    pub for_ns: u64,
}

/// Packets that never pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Filter {
    pub udp: bool,
    /// Fragments of IP packets, as many firewalls drop them.
    pub fragments: bool,
    /// Bytes of the IP packet, this size and above: an MTU black hole.
    pub size_and_above: Option<u32>,
}

/// The unit to which impairments apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A packet that a wire would carry.
    WirePacket,
    /// A whole frame of the node, as in netem: up to 64 kB are lost or delayed together. It exists
    /// to show the effect on results.
    SuperPacket,
}

/// The conditions of a direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditions {
    pub capacity: Capacity,
    /// Bytes that each frame takes on the link beyond its own (preamble, checksum, gap: 24).
    pub overhead_bytes: u32,
    /// Only a link with a capacity has a queue.
    pub queue: QueueLimit,
    /// Packets that the link holds at most, those that wait for their delay included: the queue of an
    /// emulator such as netem, and of no real link.
    pub limit_packets: Option<u64>,
    /// Queue management beside the limit.
    pub codel: Option<Codel>,
    pub delay_ns: u64,
    pub jitter: Option<Jitter>,
    /// All packets in a period of this length get one draw of the jitter; 0: each packet its own.
    pub jitter_hold_ns: u64,
    /// Whether a packet waits for those before it that jitter made late.
    pub keep_order: bool,
    pub loss: Loss,
    /// Probability that a packet skips the delay, and so overtakes those before it.
    pub reorder: Probability,
    pub duplicate: Probability,
    /// Probability that one bit behind the Ethernet header is flipped.
    pub corrupt: Probability,
    pub blackout: Option<Blackout>,
    pub filter: Filter,
    pub unit: Unit,
    /// Memory for packets in flight; packets that exceed it are dropped as overrun.
    pub in_flight_limit_bytes: u64,
}

impl Default for Conditions {
    fn default() -> Self {
        Self {
            capacity: Capacity::Unlimited,
            overhead_bytes: 0,
            queue: QueueLimit::Packets(1000),
            limit_packets: None,
            codel: None,
            delay_ns: 0,
            jitter: None,
            jitter_hold_ns: 0,
            keep_order: true,
            loss: Loss::Never,
            reorder: Probability::NEVER,
            duplicate: Probability::NEVER,
            corrupt: Probability::NEVER,
            blackout: None,
            filter: Filter::default(),
            unit: Unit::WirePacket,
            in_flight_limit_bytes: 512 << 20,
        }
    }
}

impl Conditions {
    /// Whether all packets get the same delay.
    pub fn is_delay_fixed(&self) -> bool {
        self.jitter.is_none() && self.reorder == Probability::NEVER
    }

    /// Whether packets have a time at which they leave.
    pub fn holds_packets(&self) -> bool {
        self.capacity != Capacity::Unlimited || self.delay_ns > 0 || self.jitter.is_some()
    }

    /// Whether every packet departs at once and unharmed.
    pub fn is_plain_cable(&self) -> bool {
        self.capacity == Capacity::Unlimited
            && self.delay_ns == 0
            && self.jitter.is_none()
            && self.loss == Loss::Never
            && [self.reorder, self.duplicate, self.corrupt] == [Probability::NEVER; 3]
            && self.blackout.is_none()
            && self.filter == Filter::default()
    }
}
