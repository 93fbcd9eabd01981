//! Whether the kernel may cut large messages into packets without falsifying what the wire carries.

use crate::net::device::{ethtool, netlink};
use serde::{Deserialize, Serialize};
use std::io;
use std::net::IpAddr;

/// The request to a source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Segmentation {
    /// By the rule of [`choose`].
    #[default]
    Auto,
    None,
    Kernel,
}

/// Who makes the packets: the source, or the kernel out of larger messages (UDP_SEGMENT).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Segmenter {
    None,
    Kernel,
}

/// The choice and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Chosen {
    pub by: Segmenter,
    pub why: String,
}

impl Chosen {
    pub fn none(why: impl Into<String>) -> Chosen {
        Chosen {
            by: Segmenter::None,
            why: why.into(),
        }
    }

    pub fn kernel(why: impl Into<String>) -> Chosen {
        Chosen {
            by: Segmenter::Kernel,
            why: why.into(),
        }
    }
}

/// The interface that packets leave by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Egress {
    pub device: String,
    pub mtu: u32,
    /// Whether the device takes super-packets; None if the kernel does not report it.
    pub takes_super_packets: Option<bool>,
    /// The kind of its queue, if it has one that holds packets.
    pub queue: Option<String>,
}

impl Egress {
    pub fn to(address: IpAddr) -> io::Result<Option<Egress>> {
        let Some(index) = netlink::egress_index(address)? else {
            return Ok(None);
        };
        let links = netlink::links()?;
        let Some(link) = links.into_iter().find(|link| link.index == index) else {
            return Ok(None);
        };
        let queues = netlink::qdiscs()?.into_iter();
        let queue = queues
            .filter(|queue| queue.link_index == index && queue.kind != "noqueue")
            .map(|queue| queue.kind)
            .next();
        Ok(Some(Egress {
            takes_super_packets: ethtool::feature(&link.name, "tx-udp-segmentation")
                .ok()
                .flatten(),
            device: link.name,
            mtu: link.mtu,
            queue,
        }))
    }
}

/// The rule: the kernel cuts only where each packet is a packet of its own from the interface on.
///
/// That is: the interface does not take super-packets, no queue in front of it holds them (a queue
/// would delay, limit or drop them as one), and each packet fits into the MTU.
pub fn choose(egress: &Egress, ip_packet: usize) -> Chosen {
    let device = &egress.device;
    if egress.takes_super_packets != Some(false) {
        return Chosen::none(format!(
            "{device} takes super-packets: none would be cut here"
        ));
    }
    if let Some(queue) = &egress.queue {
        return Chosen::none(format!(
            "the queue of {device} ({queue}) would see super-packets"
        ));
    }
    if ip_packet > egress.mtu as usize {
        return Chosen::none(format!("packets are larger than the MTU of {device}"));
    }
    Chosen::kernel(format!(
        "{device} takes single packets only, without a queue"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn egress() -> Egress {
        Egress {
            device: "u0".to_owned(),
            mtu: 1500,
            takes_super_packets: Some(false),
            queue: None,
        }
    }

    #[test]
    fn only_what_does_not_falsify_is_chosen() {
        assert_eq!(choose(&egress(), 1500).by, Segmenter::Kernel);
        let others = [
            (
                Egress {
                    takes_super_packets: Some(true),
                    ..egress()
                },
                64,
            ),
            (
                Egress {
                    takes_super_packets: None,
                    ..egress()
                },
                64,
            ),
            (
                Egress {
                    queue: Some("tbf".to_owned()),
                    ..egress()
                },
                64,
            ),
            (egress(), 1501),
        ];
        for (egress, size) in others {
            let chosen = choose(&egress, size);
            assert_eq!(chosen.by, Segmenter::None, "{egress:?}");
            assert!(!chosen.why.is_empty());
        }
    }

    #[test]
    fn the_loopback_is_found_and_takes_super_packets() {
        let egress = Egress::to([127, 0, 0, 1].into()).unwrap().unwrap();
        assert_eq!(egress.device, "lo");
        assert_eq!(choose(&egress, 64).by, Segmenter::None);
    }
}
