//! What was seen in one direction. Written by one thread, read by another at any time.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use crate::schedule::Drop;

/// Counts since the start, in packets, and bytes of frames (Ethernet header included).
///
/// `received` = `delivered` + all drops but `ring_full` + `in_flight`, once the cable has ended.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub received_packets: u64,
    pub received_bytes: u64,
    pub delivered_packets: u64,
    pub delivered_bytes: u64,
    /// The loss that was asked for.
    pub lost_packets: u64,
    /// The queue in front of the rate was full.
    pub queue_full_packets: u64,
    /// More was on its way than fits into memory: the link is not what was asked for.
    pub overrun_packets: u64,
    /// Longer than the MTU of the cable.
    pub too_long_packets: u64,
    /// The device at the far end did not take it (it is down).
    pub refused_packets: u64,
    /// Still on their way.
    pub in_flight_packets: u64,
    /// Dropped by the kernel before the wire saw them, as it did not read fast enough: the link is
    /// not what was asked for.
    pub ring_full_packets: u64,
}

macro_rules! counters {
    ($($name:ident),* $(,)?) => {
        /// The counters behind Counts.
        #[derive(Debug, Default)]
        pub struct Counters { $($name: AtomicU64,)* }

        impl Counters {
            pub fn read(&self) -> Counts {
                Counts { $($name: self.$name.load(Ordering::Relaxed),)* }
            }
        }
    };
}

counters!(
    received_packets,
    received_bytes,
    delivered_packets,
    delivered_bytes,
    lost_packets,
    queue_full_packets,
    overrun_packets,
    too_long_packets,
    refused_packets,
    in_flight_packets,
    ring_full_packets,
);

impl Counters {
    pub fn received(&self, bytes: u64) {
        add(&self.received_packets, 1);
        add(&self.received_bytes, bytes);
    }

    pub fn delivered(&self, bytes: u64) {
        add(&self.delivered_packets, 1);
        add(&self.delivered_bytes, bytes);
    }

    pub fn dropped(&self, reason: Drop) {
        add(
            match reason {
                Drop::Lost => &self.lost_packets,
                Drop::QueueFull => &self.queue_full_packets,
                Drop::Overrun => &self.overrun_packets,
            },
            1,
        );
    }

    pub fn too_long(&self) {
        add(&self.too_long_packets, 1);
    }

    pub fn refused(&self) {
        add(&self.refused_packets, 1);
    }

    pub fn in_flight(&self, packets: u64) {
        self.in_flight_packets.store(packets, Ordering::Relaxed);
    }
}

/// Only one thread writes, so a load and a store do, which is cheaper than a locked add.
fn add(counter: &AtomicU64, value: u64) {
    counter.store(counter.load(Ordering::Relaxed) + value, Ordering::Relaxed);
}
