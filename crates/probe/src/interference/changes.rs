//! Changes of devices, addresses, routes and queues: the kernel reports each, however short.

use super::episode::{Book, Kind, Subject, What};
use crate::net::device::netlink::{dump, split};
use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteFlags, RouteMessage};
use netlink_packet_route::tc::{TcAttribute, TcMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

/// linux/rtnetlink.h: links, queues; addresses and routes of both versions.
const GROUPS: [u32; 6] = [1, 4, 5, 7, 9, 11];
const BUFFER: usize = 1 << 20;

/// What a device keeps through a trial.
#[derive(Clone)]
struct State {
    up: bool,
    carrier: bool,
    arp: bool,
    mtu: u32,
    hardware_address: String,
}

struct Device {
    name: String,
    first: State,
    state: State,
}

impl Device {
    fn troubles(&self) -> BTreeSet<What> {
        let (first, now) = (&self.first, &self.state);
        let differs = |name: &str, now: &dyn Display, first: &dyn Display| {
            let (now, first) = (now.to_string(), first.to_string());
            (now != first).then(|| format!("{name}{now} instead of {first}"))
        };
        let hardware = (&now.hardware_address, &first.hardware_address);
        let found = [
            (Kind::DeviceDown, (!now.up).then(String::new)),
            (Kind::NoCarrier, (!now.carrier).then(String::new)),
            (Kind::Mtu, differs("", &now.mtu, &first.mtu)),
            (Kind::Settings, differs("ARP ", &now.arp, &first.arp)),
            (
                Kind::Settings,
                differs("hardware address ", hardware.0, hardware.1),
            ),
        ];
        let found = found.into_iter();
        found
            .filter_map(|(kind, detail)| {
                Some(What {
                    kind,
                    subject: Subject::Device(self.name.clone()),
                    detail: detail?,
                })
            })
            .collect()
    }
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

    /// Takes what the kernel has reported. What processes that are the VPN's own asked for, by
    /// netlink's port, is left out.
    pub fn take(&mut self, book: &mut Book, now_ns: u64, is_own: impl Fn(u32) -> bool) {
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
                // Netlink's port of a process is its id, but for its second socket; the kernel's is 0.
                let port = message.header.port_number;
                if port == 0 || !is_own(port) {
                    self.judge(message, book, now_ns, port == 0);
                }
            }
        }
    }

    /// The kernel makes and removes routes and queues itself, with a device or an address.
    fn judge(
        &mut self,
        message: NetlinkMessage<RouteNetlinkMessage>,
        book: &mut Book,
        now_ns: u64,
        by_kernel: bool,
    ) {
        let NetlinkPayload::InnerMessage(message) = message.payload else {
            return;
        };
        match message {
            RouteNetlinkMessage::NewLink(message) => self.link(&message, book, now_ns),
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
                    book.begin(what, now_ns);
                }
            }
            RouteNetlinkMessage::NewRoute(message) => {
                if let Some((removed, added)) = self.of_route(&message)
                    && !book.end(&removed, now_ns)
                    && !by_kernel
                {
                    book.begin(added, now_ns);
                }
            }
            RouteNetlinkMessage::DelRoute(message) => {
                if let Some((removed, added)) = self.of_route(&message)
                    && !book.end(&added, now_ns)
                    && !by_kernel
                {
                    book.begin(removed, now_ns);
                }
            }
            RouteNetlinkMessage::NewQueueDiscipline(message) => {
                if let Some(what) = self.of_queue(&message).filter(|_| !by_kernel) {
                    book.begin(what, now_ns);
                }
            }
            RouteNetlinkMessage::DelQueueDiscipline(message) => {
                if let Some(what) = self.of_queue(&message) {
                    book.begin(what.clone(), now_ns);
                    book.end(&what, now_ns);
                }
            }
            _ => {}
        }
    }

    fn link(&mut self, message: &LinkMessage, book: &mut Book, now_ns: u64) {
        // A message of a bridge's port has another family and no state.
        if message.header.interface_family != AddressFamily::Unspec {
            return;
        }
        let now = device(message);
        let Some(device) = self.devices.get_mut(&message.header.index) else {
            if self.names.contains(&now.name) {
                self.devices.insert(message.header.index, now);
            }
            return;
        };
        let before = device.troubles();
        // One that is down has no carrier either: what counts is what it had before.
        let carrier = if now.state.up {
            now.state.carrier
        } else {
            device.state.carrier
        };
        device.state = State {
            carrier,
            ..now.state
        };
        let after = device.troubles();
        for over in before.difference(&after) {
            book.end(over, now_ns);
        }
        for what in &after - &before {
            book.begin(what, now_ns);
        }
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
    let (mut name, mut mtu, mut hardware_address) = (String::new(), 0, String::new());
    for attribute in &message.attributes {
        match attribute {
            LinkAttribute::IfName(found) => name.clone_from(found),
            LinkAttribute::Mtu(found) => mtu = *found,
            LinkAttribute::Address(bytes) => {
                let digits: Vec<String> = bytes.iter().map(|one| format!("{one:02x}")).collect();
                hardware_address = digits.join(":");
            }
            _ => {}
        }
    }
    let state = State {
        up: flags.contains(LinkFlags::Up),
        carrier: flags.contains(LinkFlags::LowerUp),
        arp: !flags.contains(LinkFlags::Noarp),
        mtu,
        hardware_address,
    };
    Device {
        name,
        first: state.clone(),
        state,
    }
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
    fn a_device_has_troubles_as_long_as_it_differs_from_what_it_was() {
        let state = State {
            up: true,
            carrier: true,
            arp: true,
            mtu: 1420,
            hardware_address: String::new(),
        };
        let mut device = Device {
            name: "wg0".to_owned(),
            first: state.clone(),
            state,
        };
        let found = |device: &Device| -> Vec<(Kind, String)> {
            let troubles = device.troubles().into_iter();
            troubles.map(|what| (what.kind, what.detail)).collect()
        };
        assert_eq!(found(&device), []);
        (device.state.up, device.state.mtu, device.state.arp) = (false, 1200, false);
        assert_eq!(
            found(&device),
            [
                (Kind::DeviceDown, String::new()),
                (Kind::Mtu, "1200 instead of 1420".to_owned()),
                (Kind::Settings, "ARP false instead of true".to_owned()),
            ]
        );
        device.state = device.first.clone();
        assert_eq!(found(&device), []);
    }

    #[test]
    fn the_devices_by_name_are_watched() {
        let changes = Changes::open(&["lo".to_owned(), "nothing".to_owned()]).unwrap();
        assert_eq!(changes.len(), 1);
    }
}
