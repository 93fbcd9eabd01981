//! Devices, queues and protocol counters of this network namespace at one moment.

use crate::net::device::netlink::{links, qdiscs};
use crate::protocol::failure::{Failure, during};
use netlink_packet_route::link::Stats64;
use std::collections::BTreeMap;

#[derive(Debug, Clone)]
pub struct Queue {
    pub kind: String,
    pub root: bool,
    pub drops: u32,
    pub overlimits: u32,
    pub requeues: u32,
    pub backlog_bytes: u32,
}

#[derive(Debug, Clone, Default)]
pub struct Device {
    pub mtu: u32,
    pub stats: Stats64,
    pub queues: BTreeMap<(u16, u16), Queue>,
}

/// `/proc/net/snmp` of IPv4 and UDP: the counters of load and loss.
#[derive(Debug, Clone, Default)]
pub struct Protocols {
    pub udp: [u64; UDP_COUNTERS.len()],
    pub ip: [u64; IP_COUNTERS.len()],
}

/// Ours and the kernel's names, in the order of `Protocols`.
pub const UDP_COUNTERS: [(&str, &str); 7] = [
    ("in_datagrams", "InDatagrams"),
    ("out_datagrams", "OutDatagrams"),
    ("no_ports", "NoPorts"),
    ("in_errors", "InErrors"),
    ("rcvbuf_errors", "RcvbufErrors"),
    ("sndbuf_errors", "SndbufErrors"),
    ("in_csum_errors", "InCsumErrors"),
];
pub const IP_COUNTERS: [(&str, &str); 12] = [
    ("in_receives", "InReceives"),
    ("in_delivers", "InDelivers"),
    ("in_discards", "InDiscards"),
    ("forwarded", "ForwDatagrams"),
    ("out_requests", "OutRequests"),
    ("out_discards", "OutDiscards"),
    ("out_no_routes", "OutNoRoutes"),
    ("frag_creates", "FragCreates"),
    ("frag_fails", "FragFails"),
    ("reasm_reqs", "ReasmReqds"),
    ("reasm_oks", "ReasmOKs"),
    ("reasm_fails", "ReasmFails"),
];

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Softnet {
    pub dropped: u64,
    pub time_squeeze: u64,
}

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
            let own = queues.iter().filter(|queue| queue.link_index == link.index);
            let queues = own.map(|queue| {
                let counters = Queue {
                    kind: queue.kind.clone(),
                    root: queue.root,
                    drops: queue.drops,
                    overlimits: queue.overlimits,
                    requeues: queue.requeues,
                    backlog_bytes: queue.backlog_bytes,
                };
                (queue.handle, counters)
            });
            let device = Device {
                mtu: link.mtu,
                stats: link.stats,
                queues: queues.collect(),
            };
            (link.name, device)
        })
        .collect())
}

pub fn protocols() -> Result<Protocols, Failure> {
    let path = "/proc/net/snmp";
    let text = std::fs::read_to_string(path).map_err(during(path))?;
    Ok(Protocols {
        udp: snmp(&text, "Udp:", UDP_COUNTERS),
        ip: snmp(&text, "Ip:", IP_COUNTERS),
    })
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

/// `/proc/net/softnet_stat`: a line per processor; the second and third hexadecimal columns.
pub fn softnet(text: &str) -> Softnet {
    let mut sum = Softnet::default();
    for line in text.lines() {
        let mut columns = line
            .split_whitespace()
            .map(|column| u64::from_str_radix(column, 16).unwrap_or(0));
        sum.dropped += columns.nth(1).unwrap_or(0);
        sum.time_squeeze += columns.next().unwrap_or(0);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_softnet_text_is_survived(text: String) {
            softnet(&text);
            snmp(&text, "Udp:", UDP_COUNTERS);
        }
    }

    #[test]
    fn counters_are_read_by_name_whatever_others_there_are() {
        let text =
            "Ip: Forwarding InReceives\nIp: 2 5\nUdp: New InErrors InDatagrams\nUdp: 9 3 7\n";
        let udp = snmp(text, "Udp:", UDP_COUNTERS);
        assert_eq!(udp, [7, 0, 0, 3, 0, 0, 0]);
        assert_eq!(snmp(text, "Ip:", IP_COUNTERS)[0], 5);
    }

    #[test]
    fn softnet_is_summed_over_processors() {
        let text = "0000000a 00000001 00000002 0 0\n0000000b 00000010 00000003 0 0\n";
        let expected = Softnet {
            dropped: 17,
            time_squeeze: 5,
        };
        assert_eq!(softnet(text), expected);
    }
}
