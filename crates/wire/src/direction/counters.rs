//! Counters of one direction. One thread writes them, another reads them at any time.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use nix::errno::Errno;

use crate::schedule::Drop;

/// Tolerated lateness of a packet, in addition to this share of the requested time; the verification
/// of a link has the same tolerance.
const LATE_NS: u64 = 1_000_000;
const LATE_PART: u64 = 50;

/// Counts since the start, in packets of the wire, and bytes of frames (Ethernet header included).
///
/// `received` + `duplicated` = `delivered` + all drops but `ring_full` + `in_flight`, once the cable
/// has ended.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub received_packets: u64,
    pub received_bytes: u64,
    pub delivered_packets: u64,
    pub delivered_bytes: u64,
    /// Lost as requested.
    pub lost_packets: u64,
    /// The queue in front of the link was full.
    pub queue_full_packets: u64,
    /// Dropped by CoDel.
    pub codel_packets: u64,
    pub blackout_packets: u64,
    pub filtered_packets: u64,
    /// Copies that were made.
    pub duplicated_packets: u64,
    /// Delivered, with a bit flipped.
    pub corrupted_packets: u64,
    /// Packets that skipped their delay.
    pub overtaken_packets: u64,
    /// Dropped because memory was full: the link did not fulfil its conditions.
    pub overrun_packets: u64,
    /// Longer than the MTU of the cable.
    pub too_long_packets: u64,
    /// A super-packet that could not be cut.
    pub malformed_packets: u64,
    /// Refused by the device at the far end (it is down).
    pub refused_packets: u64,
    /// Still on their way.
    pub in_flight_packets: u64,
    /// Dropped by the kernel because the wire did not read fast enough: the link did not fulfil its
    /// conditions. A super-packet counts as one here.
    pub ring_full_packets: u64,
    /// Delivered late: more than 1 ms and 2 % of the requested time (delay, jitter and the rate's)
    /// after they were due.
    pub late_packets: u64,
    /// The greatest delay in excess of the requested one, of packets that were held; includes the
    /// waiting for a rate that earlier lateness has caused.
    pub latest_ns: u64,
    /// Reads and writes: super-packets, and single packets.
    pub reads: u64,
    pub writes: u64,
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
    codel_packets,
    blackout_packets,
    filtered_packets,
    duplicated_packets,
    corrupted_packets,
    overtaken_packets,
    overrun_packets,
    too_long_packets,
    malformed_packets,
    refused_packets,
    in_flight_packets,
    ring_full_packets,
    late_packets,
    latest_ns,
    reads,
    writes,
);

impl Counters {
    /// One read from the device.
    pub fn received(&self, packets: u64, bytes: u64) {
        add(&self.received_packets, packets);
        add(&self.received_bytes, bytes);
        add(&self.reads, 1);
    }

    /// One write to the device; refused packets are counted, other errors are returned.
    pub fn sent(&self, result: Result<(), Errno>, packets: u64, bytes: u64) -> Result<(), Errno> {
        match result {
            Ok(()) => {
                add(&self.delivered_packets, packets);
                add(&self.delivered_bytes, bytes);
                add(&self.writes, 1);
            }
            // down, out of buffers, or a frame that the kernel considers malformed
            Err(Errno::EIO | Errno::EAGAIN | Errno::ENOBUFS | Errno::ENOMEM | Errno::EINVAL) => {
                add(&self.refused_packets, packets);
            }
            Err(errno) => return Err(errno),
        }
        Ok(())
    }

    /// Packets that were due after `asked_ns` were taken `late_ns` after that, and leave `behind_ns`
    /// after it.
    pub fn departed(&self, late_ns: u64, behind_ns: u64, asked_ns: u64, packets: u64) {
        if late_ns > LATE_NS + asked_ns / LATE_PART {
            add(&self.late_packets, packets);
        }
        if behind_ns > self.latest_ns.load(Ordering::Relaxed) {
            self.latest_ns.store(behind_ns, Ordering::Relaxed);
        }
    }

    pub fn dropped(&self, reason: Drop, packets: u64) {
        add(
            match reason {
                Drop::Lost => &self.lost_packets,
                Drop::QueueFull => &self.queue_full_packets,
                Drop::Codel => &self.codel_packets,
                Drop::Blackout => &self.blackout_packets,
                Drop::Filtered => &self.filtered_packets,
                Drop::Overrun => &self.overrun_packets,
            },
            packets,
        );
    }

    pub fn duplicated(&self, packets: u64) {
        add(&self.duplicated_packets, packets);
    }

    pub fn corrupted(&self) {
        add(&self.corrupted_packets, 1);
    }

    pub fn too_long(&self) {
        add(&self.too_long_packets, 1);
    }

    pub fn malformed(&self) {
        add(&self.malformed_packets, 1);
    }

    pub fn in_flight(&self, packets: u64, overtaken: u64) {
        self.in_flight_packets.store(packets, Ordering::Relaxed);
        self.overtaken_packets.store(overtaken, Ordering::Relaxed);
    }
}

/// Only one thread writes, so a load and a store suffice, which are cheaper than a locked add.
fn add(counter: &AtomicU64, value: u64) {
    counter.store(counter.load(Ordering::Relaxed) + value, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_late() {
        let counters = Counters::default();
        counters.departed(1_000_000, 1_000_000, 0, 1);
        counters.departed(2_000_000, 2_000_000, 50_000_000, 2);
        counters.departed(0, 3_000_000, 0, 2);
        assert_eq!(counters.read().late_packets, 0);
        counters.departed(1_000_001, 1_000_001, 49, 4);
        counters.departed(2_000_001, 2_500_000, 50_000_000, 8);
        let counts = counters.read();
        assert_eq!((counts.late_packets, counts.latest_ns), (12, 3_000_000));
    }
}
