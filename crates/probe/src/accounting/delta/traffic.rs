//! What devices carried, and what their queues dropped.

use super::super::network::Device;
use super::since;
use crate::net::device::netlink::Qdisc;
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
    pub qdisc_drops: u32,
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
        qdisc_drops: queue_drops(before.queue.as_ref(), after.queue.as_ref()),
    }
}

/// The counter has 32 bits and wraps around. Another queue than before counts from zero.
fn queue_drops(before: Option<&Qdisc>, after: Option<&Qdisc>) -> u32 {
    let Some(after) = after else { return 0 };
    let same = before.filter(|before| (before.handle, &before.kind) == (after.handle, &after.kind));
    after
        .drops
        .wrapping_sub(same.map_or(0, |before| before.drops))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_counters_wrap_and_another_queue_begins_at_zero() {
        let queue = |kind: &str, drops| Qdisc {
            link_index: 1,
            kind: kind.to_owned(),
            root: true,
            handle: (0, 0),
            drops,
        };
        let before = queue("mq", u32::MAX);
        assert_eq!(queue_drops(Some(&before), Some(&queue("mq", 4))), 5);
        assert_eq!(queue_drops(Some(&before), Some(&queue("tbf", 4))), 4);
        assert_eq!(queue_drops(Some(&before), None), 0);
    }
}
