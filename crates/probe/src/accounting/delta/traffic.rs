//! What devices carried, and what their queues dropped.

use super::super::network::{Device, Queue};
use super::since;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct DeviceTraffic {
    pub name: String,
    pub mtu: u32,
    pub rx_packets: u64,
    pub rx_bytes: u64,
    pub rx_dropped: u64,
    pub rx_errors: u64,
    pub tx_packets: u64,
    pub tx_bytes: u64,
    pub tx_dropped: u64,
    pub tx_errors: u64,
    pub qdiscs: Vec<QueueLoss>,
}

#[derive(Debug, Serialize)]
pub struct QueueLoss {
    pub kind: String,
    pub root: bool,
    pub drops: u32,
    pub overlimits: u32,
    pub requeues: u32,
    /// At the end, not a difference.
    pub backlog_bytes: u32,
}

/// A device that came in between counts from zero.
pub fn device_traffic(name: &str, before: Option<&Device>, after: &Device) -> DeviceTraffic {
    let nothing = Device::default();
    let before = before.unwrap_or(&nothing);
    let (b, a) = (&before.stats, &after.stats);
    DeviceTraffic {
        name: name.to_owned(),
        mtu: after.mtu,
        rx_packets: since(a.rx_packets, b.rx_packets),
        rx_bytes: since(a.rx_bytes, b.rx_bytes),
        rx_dropped: since(a.rx_dropped, b.rx_dropped),
        rx_errors: since(a.rx_errors, b.rx_errors),
        tx_packets: since(a.tx_packets, b.tx_packets),
        tx_bytes: since(a.tx_bytes, b.tx_bytes),
        tx_dropped: since(a.tx_dropped, b.tx_dropped),
        tx_errors: since(a.tx_errors, b.tx_errors),
        qdiscs: after
            .queues
            .iter()
            .map(|(handle, queue)| queue_loss(before.queues.get(handle), queue))
            .collect(),
    }
}

/// These counters have 32 bits and wrap around.
fn queue_loss(before: Option<&Queue>, after: &Queue) -> QueueLoss {
    let since = |field: fn(&Queue) -> u32| field(after).wrapping_sub(before.map_or(0, field));
    QueueLoss {
        kind: after.kind.clone(),
        root: after.root,
        drops: since(|queue| queue.drops),
        overlimits: since(|queue| queue.overlimits),
        requeues: since(|queue| queue.requeues),
        backlog_bytes: after.backlog_bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_counters_wrap() {
        let queue = |drops| Queue {
            kind: "tbf".to_owned(),
            root: true,
            drops,
            overlimits: 0,
            requeues: 0,
            backlog_bytes: 9,
        };
        let loss = queue_loss(Some(&queue(u32::MAX)), &queue(4));
        assert_eq!((loss.drops, loss.backlog_bytes), (5, 9));
    }
}
