//! Changes of devices, addresses, routes and queues: the kernel reports each, however short.

use super::episode::{Book, Kind, Subject, What};
use crate::net::device::netlink::{dump, split};
use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::neighbour::{NeighbourAddress, NeighbourAttribute, NeighbourMessage};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteFlags, RouteMessage};
use netlink_packet_route::rule::{RuleAttribute, RuleMessage};
use netlink_packet_route::tc::{TcAttribute, TcMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

/// linux/rtnetlink.h: links, neighbours, queues; addresses, routes and rules of both versions.
const GROUPS: [u32; 9] = [1, 3, 4, 5, 7, 8, 9, 11, 19];
const BUFFER: usize = 1 << 20;

/// What a device keeps through a trial, by name.
type Settings = BTreeMap<&'static str, String>;

struct Device {
    name: String,
    up: bool,
    carrier: bool,
    mtu: u32,
    first_mtu: u32,
    settings: Settings,
    first_settings: Settings,
}

struct Network {
    address: IpAddr,
    length: u8,
}

pub struct Changes {
    socket: Socket,
    devices: BTreeMap<u32, Device>,
    /// That the devices are in: routes into these lead to them.
    networks: Vec<Network>,
    names: Vec<String>,
    pub lost: bool,
}

impl Changes {
    /// Every later change of the named devices is reported.
    pub fn open(names: &[String]) -> io::Result<Changes> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind(&SocketAddr::new(0, 0))?;
        socket.set_non_blocking(true)?;
        let _ = socket.set_rx_buf_sz(BUFFER);
        for group in GROUPS {
            socket.add_membership(group)?;
        }
        let mut changes = Changes {
            socket,
            devices: BTreeMap::new(),
            networks: Vec::new(),
            names: names.to_vec(),
            lost: false,
        };
        for answer in dump(RouteNetlinkMessage::GetLink(LinkMessage::default()))? {
            if let RouteNetlinkMessage::NewLink(message) = answer {
                let device = device(&message);
                if names.contains(&device.name) {
                    changes.devices.insert(message.header.index, device);
                }
            }
        }
        for answer in dump(RouteNetlinkMessage::GetAddress(AddressMessage::default()))? {
            if let RouteNetlinkMessage::NewAddress(message) = answer
                && changes.devices.contains_key(&message.header.index)
                && let Some(address) = address(&message)
            {
                let length = message.header.prefix_len;
                changes.networks.push(Network { address, length });
            }
        }
        Ok(changes)
    }

    pub fn len(&self) -> usize {
        self.devices.len()
    }

    pub fn descriptor(&self) -> BorrowedFd<'_> {
        // SAFETY: the socket is open as long as this object lives.
        unsafe { BorrowedFd::borrow_raw(self.socket.as_raw_fd()) }
    }

    /// Takes what the kernel has reported. `doer` is the process that asked for a change, by its
    /// id; none if it is one of the VPN's own.
    pub fn take(&mut self, book: &mut Book, now_ns: u64, doer: impl Fn(u32) -> Option<String>) {
        loop {
            let datagram = match self.socket.recv_from_full() {
                Ok((datagram, _)) => datagram,
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    self.lost = true;
                    continue;
                }
                Err(_) => return,
            };
            for bytes in split(&datagram).unwrap_or_default() {
                let Ok(message) = NetlinkMessage::<RouteNetlinkMessage>::deserialize(bytes) else {
                    continue;
                };
                let id = message.header.port_number;
                let by = (id != 0).then(|| doer(id));
                if by != Some(None) {
                    self.judge(message, book, now_ns, by.flatten());
                }
            }
        }
    }

    fn judge(
        &mut self,
        message: NetlinkMessage<RouteNetlinkMessage>,
        book: &mut Book,
        now_ns: u64,
        by: Option<String>,
    ) {
        let NetlinkPayload::InnerMessage(message) = message.payload else {
            return;
        };
        match message {
            RouteNetlinkMessage::NewLink(message) => self.link(&message, book, now_ns, by),
            // One that was removed or made anew is its program's, whose end is judged elsewhere.
            RouteNetlinkMessage::DelLink(message) => {
                self.devices.remove(&message.header.index);
            }
            RouteNetlinkMessage::NewAddress(message) => {
                if let Some(what) = self.of_address(&message) {
                    book.end(&what, now_ns);
                }
            }
            RouteNetlinkMessage::DelAddress(message) => {
                // Others end when their time is over.
                let permanent = message.header.flags.contains(AddressHeaderFlags::Permanent);
                if let Some(what) = self.of_address(&message).filter(|_| permanent) {
                    book.begin(what, now_ns, by);
                }
            }
            RouteNetlinkMessage::NewRoute(message) => {
                if let Some((removed, added)) = self.of_route(&message)
                    && !book.end(&removed, now_ns)
                    && by.is_some()
                {
                    book.begin(added, now_ns, by);
                }
            }
            RouteNetlinkMessage::DelRoute(message) => {
                if let Some((removed, added)) = self.of_route(&message)
                    && !book.end(&added, now_ns)
                    && by.is_some()
                {
                    book.begin(removed, now_ns, by);
                }
            }
            RouteNetlinkMessage::NewQueueDiscipline(message) => {
                if let Some(what) = self.of_queue(&message).filter(|_| by.is_some()) {
                    book.begin(what, now_ns, by);
                }
            }
            RouteNetlinkMessage::DelQueueDiscipline(message) => {
                if let Some(what) = self.of_queue(&message) {
                    book.begin(what.clone(), now_ns, by);
                    book.end(&what, now_ns);
                }
            }
            RouteNetlinkMessage::NewRule(message) => {
                if let Some((removed, added)) = self.of_rule(&message)
                    && !book.end(&removed, now_ns)
                {
                    book.begin(added, now_ns, by);
                }
            }
            RouteNetlinkMessage::DelRule(message) => {
                if let Some((removed, added)) = self.of_rule(&message)
                    && !book.end(&added, now_ns)
                {
                    book.begin(removed, now_ns, by);
                }
            }
            RouteNetlinkMessage::NewNeighbour(message) => {
                if let Some(what) = self.of_neighbour(&message).filter(|_| by.is_some()) {
                    book.begin(what, now_ns, by);
                }
            }
            RouteNetlinkMessage::DelNeighbour(message) => {
                if let Some(what) = self.of_neighbour(&message).filter(|_| by.is_some()) {
                    book.begin(what.clone(), now_ns, by);
                    book.end(&what, now_ns);
                }
            }
            _ => {}
        }
    }

    fn link(&mut self, message: &LinkMessage, book: &mut Book, now_ns: u64, by: Option<String>) {
        let now = device(message);
        let index = message.header.index;
        // A message of a bridge's port has another family and no state.
        if message.header.interface_family != AddressFamily::Unspec {
            return;
        }
        let Some(before) = self.devices.get_mut(&index) else {
            if self.names.contains(&now.name) {
                self.devices.insert(index, now);
            }
            return;
        };
        let subject = Subject::Device(before.name.clone());
        let mut changes = vec![(Kind::DeviceDown, before.up, now.up, String::new())];
        if now.up {
            changes.push((Kind::NoCarrier, before.carrier, now.carrier, String::new()));
        }
        if now.mtu != before.mtu {
            // Whatever it was meanwhile, the first one is the right one.
            let detail = format!("{} instead of {}", now.mtu, before.first_mtu);
            book.end_all(Kind::Mtu, &subject, now_ns);
            changes.push((Kind::Mtu, true, now.mtu == before.first_mtu, detail));
        }
        for (name, value) in &now.settings {
            let first = before.first_settings.get(name);
            let of = |value: &String| What {
                kind: Kind::Settings,
                subject: subject.clone(),
                detail: format!("{name} {value} instead of {}", first.unwrap_or(value)),
            };
            match before.settings.get(name) {
                Some(last) if last != value => {
                    book.end(&of(last), now_ns);
                    if first != Some(value) {
                        book.begin(of(value), now_ns, by.clone());
                    }
                }
                _ => {}
            }
        }
        for (kind, was_well, is_well, detail) in changes {
            match (was_well, is_well) {
                (true, false) => {
                    let subject = subject.clone();
                    let what = What {
                        kind,
                        subject,
                        detail,
                    };
                    book.begin(what, now_ns, by.clone());
                }
                (false, true) => book.end_all(kind, &subject, now_ns),
                _ => {}
            }
        }
        *before = Device {
            first_mtu: before.first_mtu,
            first_settings: std::mem::take(&mut before.first_settings),
            name: before.name.clone(),
            ..now
        };
    }

    fn of_address(&self, message: &AddressMessage) -> Option<What> {
        let device = self.devices.get(&message.header.index)?;
        Some(What {
            kind: Kind::Address,
            subject: Subject::Device(device.name.clone()),
            detail: format!("{}/{}", address(message)?, message.header.prefix_len),
        })
    }

    fn of_queue(&self, message: &TcMessage) -> Option<What> {
        let device = self
            .devices
            .get(&u32::try_from(message.header.index).ok()?)?;
        let kind = message.attributes.iter().find_map(|one| match one {
            TcAttribute::Kind(kind) => Some(kind.clone()),
            _ => None,
        });
        Some(What {
            kind: Kind::Queue,
            subject: Subject::Device(device.name.clone()),
            detail: kind.unwrap_or_default(),
        })
    }

    /// The removal and the addition of a rule that packets of the devices may follow.
    fn of_rule(&self, message: &RuleMessage) -> Option<(What, What)> {
        let mut priority = 0;
        for attribute in &message.attributes {
            let (ip, length) = match attribute {
                RuleAttribute::Destination(ip) => (ip, message.header.dst_len),
                RuleAttribute::Source(ip) => (ip, message.header.src_len),
                RuleAttribute::Priority(found) => {
                    priority = *found;
                    continue;
                }
                _ => continue,
            };
            if !self.networks.iter().any(|one| one.overlaps(*ip, length)) {
                return None;
            }
        }
        let what = |done: &str| What {
            kind: Kind::Route,
            subject: Subject::Node,
            detail: format!("rule {priority} {done}"),
        };
        Some((what("removed"), what("added")))
    }

    fn of_neighbour(&self, message: &NeighbourMessage) -> Option<What> {
        let device = self.devices.get(&message.header.ifindex)?;
        let of = message.attributes.iter().find_map(|one| match one {
            NeighbourAttribute::Destination(NeighbourAddress::Inet(ip)) => Some(IpAddr::V4(*ip)),
            NeighbourAttribute::Destination(NeighbourAddress::Inet6(ip)) => Some(IpAddr::V6(*ip)),
            _ => None,
        })?;
        Some(What {
            kind: Kind::Settings,
            subject: Subject::Device(device.name.clone()),
            detail: format!("neighbour {of}"),
        })
    }

    /// The removal and the addition of a route that packets of the devices may take.
    fn of_route(&self, message: &RouteMessage) -> Option<(What, What)> {
        if message.header.flags.contains(RouteFlags::Cloned) {
            return None;
        }
        let (mut to, mut device) = (None, None);
        for attribute in &message.attributes {
            match attribute {
                RouteAttribute::Destination(RouteAddress::Inet(ip)) => to = Some(IpAddr::V4(*ip)),
                RouteAttribute::Destination(RouteAddress::Inet6(ip)) => to = Some(IpAddr::V6(*ip)),
                RouteAttribute::Oif(index) => device = self.devices.get(index),
                _ => {}
            }
        }
        let inside = to.is_some_and(|to| self.networks.iter().any(|one| one.has(to)));
        if device.is_none() && !inside {
            return None;
        }
        let length = message.header.destination_prefix_length;
        let to = to.map_or("default".to_owned(), |to| format!("{to}/{length}"));
        let subject = device.map_or(Subject::Node, |one| Subject::Device(one.name.clone()));
        let what = |done: &str| What {
            kind: Kind::Route,
            subject: subject.clone(),
            detail: format!("{to} {done}"),
        };
        Some((what("removed"), what("added")))
    }
}

impl Network {
    /// Whether the network of that length around an address has addresses of this one.
    fn overlaps(&self, address: IpAddr, length: u8) -> bool {
        let length = length.min(self.length);
        Network { address, length }.has(self.address)
    }

    fn has(&self, other: IpAddr) -> bool {
        match (self.address, other) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let host = 32 - u32::from(self.length.min(32));
                (u64::from(own.to_bits()) >> host) == (u64::from(other.to_bits()) >> host)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let host = 128 - u32::from(self.length.min(128));
                own.to_bits().checked_shr(host) == other.to_bits().checked_shr(host)
            }
            _ => false,
        }
    }
}

fn device(message: &LinkMessage) -> Device {
    let flags = message.header.flags;
    let mut device = Device {
        name: String::new(),
        up: flags.contains(LinkFlags::Up),
        carrier: flags.contains(LinkFlags::LowerUp),
        mtu: 0,
        first_mtu: 0,
        settings: Settings::new(),
        first_settings: Settings::new(),
    };
    let answers = !flags.contains(LinkFlags::Noarp);
    device.settings.insert("ARP", answers.to_string());
    for attribute in &message.attributes {
        match attribute {
            LinkAttribute::TxQueueLen(length) => {
                device.settings.insert("queue length", length.to_string());
            }
            LinkAttribute::Address(bytes) => {
                let digits: Vec<String> = bytes.iter().map(|one| format!("{one:02x}")).collect();
                device.settings.insert("hardware address", digits.join(":"));
            }
            LinkAttribute::IfName(name) => device.name.clone_from(name),
            LinkAttribute::Mtu(mtu) => (device.mtu, device.first_mtu) = (*mtu, *mtu),
            _ => {}
        }
    }
    device.first_settings.clone_from(&device.settings);
    device
}

fn address(message: &AddressMessage) -> Option<IpAddr> {
    let find = |wanted: fn(&AddressAttribute) -> Option<IpAddr>| {
        message.attributes.iter().find_map(wanted)
    };
    // On a line from point to point the other is the peer's.
    find(|one| match one {
        AddressAttribute::Local(ip) => Some(*ip),
        _ => None,
    })
    .or_else(|| {
        find(|one| match one {
            AddressAttribute::Address(ip) => Some(*ip),
            _ => None,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_its_addresses() {
        let network = |text: &str, length| Network {
            address: text.parse().unwrap(),
            length,
        };
        assert!(network("198.19.0.1", 24).has("198.19.0.77".parse().unwrap()));
        assert!(!network("198.19.0.1", 24).has("198.19.1.77".parse().unwrap()));
        assert!(network("198.19.0.1", 0).has("10.0.0.1".parse().unwrap()));
        assert!(network("fd00::1", 64).has("fd00::2".parse().unwrap()));
        assert!(!network("fd00::1", 64).has("10.0.0.1".parse().unwrap()));
    }

    #[test]
    fn a_rule_concerns_networks_that_it_overlaps() {
        let network = Network {
            address: "198.19.0.1".parse().unwrap(),
            length: 24,
        };
        assert!(network.overlaps("198.0.0.0".parse().unwrap(), 8));
        assert!(network.overlaps("198.19.0.7".parse().unwrap(), 32));
        assert!(!network.overlaps("10.0.0.0".parse().unwrap(), 8));
        assert!(!network.overlaps("198.19.1.7".parse().unwrap(), 32));
    }

    #[test]
    fn the_devices_by_name_are_watched() {
        let changes = Changes::open(&["lo".to_owned(), "nothing".to_owned()]).unwrap();
        assert_eq!(changes.len(), 1);
    }
}
