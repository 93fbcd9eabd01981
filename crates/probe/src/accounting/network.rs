//! Devices, queues and protocol counters of this network namespace at one moment.

use crate::net::device::netlink::{Qdisc, links, qdiscs};
use crate::protocol::failure::{Failure, during};
use netlink_packet_route::link::Stats64;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Default)]
pub struct Device {
    pub stats: Stats64,
    /// The root queue, which counts what those below it drop.
    pub queue: Option<Qdisc>,
}

/// Ours and the kernel's names of UDP's counters of load and loss in `/proc/net/snmp`.
pub const UDP_COUNTERS: [(&str, &str); 7] = [
    ("in_datagrams", "InDatagrams"),
    ("out_datagrams", "OutDatagrams"),
    ("no_ports", "NoPorts"),
    ("in_errors", "InErrors"),
    ("rcvbuf_errors", "RcvbufErrors"),
    ("sndbuf_errors", "SndbufErrors"),
    ("in_csum_errors", "InCsumErrors"),
];

/// Of those names only; a device that does not exist (yet) is left out.
pub fn devices(names: &[String]) -> Result<BTreeMap<String, Device>, Failure> {
    if names.is_empty() {
        return Ok(BTreeMap::new());
    }
    let queues = qdiscs().map_err(during("list the queues"))?;
    let links = links().map_err(during("list the interfaces"))?;
    let wanted = links.into_iter().filter(|link| names.contains(&link.name));
    Ok(wanted
        .map(|link| {
            let device = Device {
                stats: link.stats,
                queue: root_queue(&queues, link.index),
            };
            (link.name, device)
        })
        .collect())
}

/// By its place: by default the kernel gives the root and those below it one handle, 0.
fn root_queue(queues: &[Qdisc], link_index: u32) -> Option<Qdisc> {
    let of_link = |queue: &&Qdisc| queue.root && queue.link_index == link_index;
    queues.iter().find(of_link).cloned()
}

/// In the order of `UDP_COUNTERS`.
pub fn udp_counters() -> Result<[u64; UDP_COUNTERS.len()], Failure> {
    let path = "/proc/net/snmp";
    let text = std::fs::read_to_string(path).map_err(during(path))?;
    Ok(snmp(&text, "Udp:", UDP_COUNTERS))
}

/// Counters of one protocol: a line of names, below it a line of values. Read by name, as kernels
/// gain and lose counters (recent ones have no UDP-Lite); a name that is not there counts nothing.
fn snmp<const N: usize>(text: &str, protocol: &str, wanted: [(&str, &str); N]) -> [u64; N] {
    let mut lines = text
        .lines()
        .map(str::split_whitespace)
        .filter_map(|mut words| (words.next() == Some(protocol)).then_some(words));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else {
        return [0; N];
    };
    let counters: BTreeMap<&str, u64> = names
        .zip(values.map(|value| value.parse().unwrap_or(0)))
        .collect();
    wanted.map(|(_, name)| counters.get(name).copied().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_text_is_survived(text: String) {
            snmp(&text, "Udp:", UDP_COUNTERS);
        }
    }

    #[test]
    fn the_root_queue_is_found_among_others_of_its_handle() {
        let queue = |link_index, root, drops| Qdisc {
            link_index,
            kind: "mq".to_owned(),
            root,
            handle: (0, 0),
            drops,
        };
        let queues = [
            queue(1, true, 1),
            queue(2, false, 2),
            queue(2, true, 9),
            queue(2, false, 7),
        ];
        assert_eq!(root_queue(&queues, 2).map(|root| root.drops), Some(9));
        assert!(root_queue(&queues, 3).is_none());
    }

    #[test]
    fn counters_are_read_by_name_whatever_others_there_are() {
        let text =
            "Ip: Forwarding InReceives\nIp: 2 5\nUdp: New InErrors InDatagrams\nUdp: 9 3 7\n";
        let udp = snmp(text, "Udp:", UDP_COUNTERS);
        assert_eq!(udp, [7, 0, 0, 3, 0, 0, 0]);
    }
}
