//! What devices carried, and what their queues dropped.

use super::super::network::{Device, Queue};
use super::since;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct DeviceTraffic {
    pub name: String,
    pub rx_packets: u64,
    pub rx_bytes: u64,
    pub rx_dropped: u64,
    pub tx_packets: u64,
    pub tx_bytes: u64,
    pub tx_dropped: u64,
    pub qdiscs: Vec<QueueLoss>,
}

#[derive(Debug, Serialize)]
pub struct QueueLoss {
    pub root: bool,
    pub drops: u32,
}

/// A device that came in between counts from zero.
pub fn device_traffic(name: &str, before: Option<&Device>, after: &Device) -> DeviceTraffic {
    let nothing = Device::default();
    let before = before.unwrap_or(&nothing);
    let (b, a) = (&before.stats, &after.stats);
    DeviceTraffic {
        name: name.to_owned(),
        rx_packets: since(a.rx_packets, b.rx_packets),
        rx_bytes: since(a.rx_bytes, b.rx_bytes),
        rx_dropped: since(a.rx_dropped, b.rx_dropped),
        tx_packets: since(a.tx_packets, b.tx_packets),
        tx_bytes: since(a.tx_bytes, b.tx_bytes),
        tx_dropped: since(a.tx_dropped, b.tx_dropped),
        qdiscs: after
            .queues
            .iter()
            .map(|(handle, queue)| queue_loss(before.queues.get(handle), queue))
            .collect(),
    }
}

/// The counter has 32 bits and wraps around.
fn queue_loss(before: Option<&Queue>, after: &Queue) -> QueueLoss {
    QueueLoss {
        root: after.root,
        drops: after
            .drops
            .wrapping_sub(before.map_or(0, |queue| queue.drops)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_counters_wrap() {
        let queue = |drops| Queue { root: true, drops };
        assert_eq!(queue_loss(Some(&queue(u32::MAX)), &queue(4)).drops, 5);
    }
}
