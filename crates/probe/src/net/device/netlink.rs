//! Interfaces and queues of this network namespace, read from the kernel.

use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::link::{LinkAttribute, LinkMessage, Stats64};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcStats2};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use std::io;
use std::net::IpAddr;

/// An interface.
#[derive(Debug, Clone)]
pub struct Link {
    pub index: u32,
    pub name: String,
    pub mtu: u32,
    pub stats: Stats64,
}

impl Link {
    /// As if all but the loopback were one: index 0, which means any to the kernel.
    pub fn all_of(links: Vec<Link>) -> Link {
        let mut all = Link {
            index: 0,
            name: "any".to_owned(),
            mtu: 0,
            stats: Stats64::default(),
        };
        for link in links.into_iter().filter(|link| link.name != "lo") {
            all.mtu = all.mtu.max(link.mtu);
            all.stats.rx_packets += link.stats.rx_packets;
            all.stats.tx_packets += link.stats.tx_packets;
        }
        all
    }
}

/// A queueing discipline and its counters since it was made.
#[derive(Debug, Clone)]
pub struct Qdisc {
    pub link_index: u32,
    pub kind: String,
    pub root: bool,
    pub handle: (u16, u16),
    pub drops: u32,
}

pub fn links() -> io::Result<Vec<Link>> {
    let request = RouteNetlinkMessage::GetLink(LinkMessage::default());
    let answers = dump(request)?;
    Ok(answers.into_iter().filter_map(link).collect())
}

/// Empty of interfaces whose queue is none at all.
pub fn qdiscs() -> io::Result<Vec<Qdisc>> {
    let request = RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default());
    let answers = dump(request)?;
    Ok(answers.into_iter().filter_map(qdisc).collect())
}

/// The index of the interface that packets to an address leave by; None if there is no route.
pub fn egress_index(to: IpAddr) -> io::Result<Option<u32>> {
    let mut message = RouteMessage::default();
    let (family, length, address) = match to {
        IpAddr::V4(ip) => (AddressFamily::Inet, 32, RouteAddress::Inet(ip)),
        IpAddr::V6(ip) => (AddressFamily::Inet6, 128, RouteAddress::Inet6(ip)),
    };
    message.header.address_family = family;
    message.header.destination_prefix_length = length;
    message
        .attributes
        .push(RouteAttribute::Destination(address));
    let socket = send_request(RouteNetlinkMessage::GetRoute(message), NLM_F_REQUEST)?;
    let mut answers = Vec::new();
    take_messages(&socket.recv_from_full()?.0, &mut answers)?;
    let attributes = answers.into_iter().find_map(|answer| match answer {
        RouteNetlinkMessage::NewRoute(route) => Some(route.attributes),
        _ => None,
    });
    Ok(attributes
        .unwrap_or_default()
        .into_iter()
        .find_map(|attribute| match attribute {
            RouteAttribute::Oif(index) => Some(index),
            _ => None,
        }))
}

fn link(message: RouteNetlinkMessage) -> Option<Link> {
    let RouteNetlinkMessage::NewLink(message) = message else {
        return None;
    };
    let mut link = Link {
        index: message.header.index,
        name: String::new(),
        mtu: 0,
        stats: Stats64::default(),
    };
    for attribute in message.attributes {
        match attribute {
            LinkAttribute::IfName(name) => link.name = name,
            LinkAttribute::Mtu(mtu) => link.mtu = mtu,
            LinkAttribute::Stats64(stats) => link.stats = stats,
            _ => {}
        }
    }
    Some(link)
}

fn qdisc(message: RouteNetlinkMessage) -> Option<Qdisc> {
    let RouteNetlinkMessage::NewQueueDiscipline(message) = message else {
        return None;
    };
    let mut qdisc = Qdisc {
        link_index: u32::try_from(message.header.index).ok()?,
        kind: String::new(),
        root: message.header.parent == TcHandle::ROOT,
        handle: (message.header.handle.major, message.header.handle.minor),
        drops: 0,
    };
    for attribute in message.attributes {
        match attribute {
            TcAttribute::Kind(kind) => qdisc.kind = kind,
            TcAttribute::Stats2(stats) => {
                for stat in stats {
                    if let TcStats2::Queue(queue) = stat {
                        qdisc.drops = queue.drops;
                    }
                }
            }
            _ => {}
        }
    }
    Some(qdisc)
}

/// The answers to a request for all of something.
pub fn dump(request: RouteNetlinkMessage) -> io::Result<Vec<RouteNetlinkMessage>> {
    let socket = send_request(request, NLM_F_DUMP | NLM_F_REQUEST)?;
    let mut answers = Vec::new();
    loop {
        let (datagram, _) = socket.recv_from_full()?;
        if take_messages(&datagram, &mut answers)? {
            return Ok(answers);
        }
    }
}

fn send_request(request: RouteNetlinkMessage, flags: u16) -> io::Result<Socket> {
    let socket = Socket::new(NETLINK_ROUTE)?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut packet = NetlinkMessage::new(NetlinkHeader::default(), NetlinkPayload::from(request));
    packet.header.flags = flags;
    packet.header.sequence_number = 1;
    packet.finalize();
    let mut bytes = vec![0; packet.buffer_len()];
    packet.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    Ok(socket)
}

/// The messages of a datagram, as bytes.
pub fn split(datagram: &[u8]) -> io::Result<Vec<&[u8]>> {
    let mut messages = Vec::new();
    let mut rest = datagram;
    // Each message starts with its length.
    while let Some(length) = rest.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes)) {
        let length = length as usize;
        let message = rest.get(..length).filter(|bytes| bytes.len() >= 16);
        messages.push(
            message.ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidData, "a cut netlink message")
            })?,
        );
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(messages)
}

/// Takes the messages of a datagram; true if the last of the dump was among them.
fn take_messages(datagram: &[u8], answers: &mut Vec<RouteNetlinkMessage>) -> io::Result<bool> {
    for bytes in split(datagram)? {
        // A message that the library can't read is of an interface that the request does not name,
        // or it will be missing by name.
        if let Ok(message) = NetlinkMessage::<RouteNetlinkMessage>::deserialize(bytes) {
            match message.payload {
                NetlinkPayload::Done(_) => return Ok(true),
                NetlinkPayload::Error(error) => return Err(error.to_io()),
                NetlinkPayload::InnerMessage(message) => answers.push(message),
                _ => {}
            }
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_datagram_is_read_without_harm(datagram: Vec<u8>) {
            let _ = take_messages(&datagram, &mut Vec::new());
        }
    }

    #[test]
    fn there_is_a_loopback() {
        let links = links().unwrap();
        let loopback = links.iter().find(|link| link.name == "lo").unwrap();
        assert_eq!(loopback.index, 1);
        assert!(loopback.mtu > 0);
        assert!(qdiscs().is_ok());
        let egress = egress_index([127, 0, 0, 1].into()).unwrap();
        assert_eq!(egress, Some(loopback.index));
    }
}
