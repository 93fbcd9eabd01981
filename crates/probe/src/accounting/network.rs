//! Devices, queues and protocol counters of this network namespace at one moment.

use super::snapshot::proc_failure;
use crate::failure::{Failure, during};
use crate::net::netlink::{links, qdiscs};
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

/// `/proc/net/snmp` of IPv4 and UDP: what tells of load and loss.
#[derive(Debug, Clone, Default)]
pub struct Protocols {
    pub udp: [u64; UDP_COUNTERS.len()],
    pub ip: [u64; IP_COUNTERS.len()],
}

/// Names, in the order of `Protocols`.
pub const UDP_COUNTERS: [&str; 7] = [
    "in_datagrams",
    "out_datagrams",
    "no_ports",
    "in_errors",
    "rcvbuf_errors",
    "sndbuf_errors",
    "in_csum_errors",
];
pub const IP_COUNTERS: [&str; 12] = [
    "in_receives",
    "in_delivers",
    "in_discards",
    "forwarded",
    "out_requests",
    "out_discards",
    "out_no_routes",
    "frag_creates",
    "frag_fails",
    "reasm_reqs",
    "reasm_oks",
    "reasm_fails",
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
    let snmp = procfs::net::snmp().map_err(proc_failure("/proc/net/snmp"))?;
    Ok(Protocols {
        udp: [
            snmp.udp_in_datagrams,
            snmp.udp_out_datagrams,
            snmp.udp_no_ports,
            snmp.udp_in_errors,
            snmp.udp_rcvbuf_errors,
            snmp.udp_sndbuf_errors,
            snmp.udp_in_csum_errors,
        ],
        ip: [
            snmp.ip_in_receives,
            snmp.ip_in_delivers,
            snmp.ip_in_discards,
            snmp.ip_forw_datagrams,
            snmp.ip_out_requests,
            snmp.ip_out_discards,
            snmp.ip_out_no_routes,
            snmp.ip_frag_creates,
            snmp.ip_frag_fails,
            snmp.ip_reasm_reqds,
            snmp.ip_reasm_oks,
            snmp.ip_reasm_fails,
        ],
    })
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
        }

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
