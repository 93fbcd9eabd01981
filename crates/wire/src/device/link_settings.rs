//! MTU and queue length of a device, by rtnetlink(7): of a device in a user namespace's network
//! namespace the ioctl of netdevice(7) sets no queue length.

use std::io;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_ROUTE;

use crate::device::endpoint::DeviceName;

/// Sets both for a device of the calling thread's network namespace.
pub fn set(device: &DeviceName, mtu: u32, queue_packets: u32) -> io::Result<()> {
    let mut settings = LinkMessage::default();
    settings.attributes = vec![
        LinkAttribute::IfName(device.as_str().to_owned()),
        LinkAttribute::Mtu(mtu),
        LinkAttribute::TxQueueLen(queue_packets),
    ];
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_ACK;
    let mut message = NetlinkMessage::new(
        header,
        NetlinkPayload::from(RouteNetlinkMessage::SetLink(settings)),
    );
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.send(&bytes, 0)?;
    acknowledged(&socket.recv_from_full()?.0)
}

fn acknowledged(answer: &[u8]) -> io::Result<()> {
    let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(answer)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    match answer.payload {
        NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
        _ => Ok(()),
    }
}
