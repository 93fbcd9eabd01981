//! Changes of nftables' rules, each with the process that made it.

use super::episode::{Book, Kind, Subject, What};
use crate::net::device::netlink::split;
use netlink_sys::protocols::NETLINK_NETFILTER;
use netlink_sys::{Socket, SocketAddr};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// linux/netfilter/nfnetlink.h and nf_tables.h.
const NFNLGRP_NFTABLES: u32 = 7;
const NEW_GENERATION: u16 = (10 << 8) | 15;
const PROCESS_ID: u16 = 2;
const PROCESS_NAME: u16 = 3;
/// Of a message, and of what follows it (nfgenmsg).
const HEADERS: usize = 16 + 4;

pub struct Firewall {
    socket: Socket,
}

/// One transaction, which may have changed many rules.
#[derive(Debug, PartialEq, Eq)]
struct Generation {
    pid: u32,
    name: String,
}

impl Firewall {
    /// An error where the kernel has no nftables, or does not report them to this user.
    pub fn open() -> io::Result<Firewall> {
        let mut socket = Socket::new(NETLINK_NETFILTER)?;
        socket.bind(&SocketAddr::new(0, 0))?;
        socket.set_non_blocking(true)?;
        socket.add_membership(NFNLGRP_NFTABLES)?;
        Ok(Firewall { socket })
    }

    pub fn descriptor(&self) -> BorrowedFd<'_> {
        // SAFETY: the socket is open as long as this object lives.
        unsafe { BorrowedFd::borrow_raw(self.socket.as_raw_fd()) }
    }

    pub fn take(&mut self, book: &mut Book, now_ns: u64, is_own: impl Fn(u32) -> bool) {
        while let Ok((datagram, _)) = self.socket.recv_from_full() {
            let generations = split(&datagram).unwrap_or_default();
            for generation in generations.into_iter().filter_map(parse) {
                if !is_own(generation.pid) {
                    let what = What {
                        kind: Kind::Firewall,
                        subject: Subject::Node,
                        detail: String::new(),
                    };
                    let by = format!("process {} ({})", generation.pid, generation.name);
                    book.begin(what.clone(), now_ns, Some(by));
                    book.end(&what, now_ns);
                }
            }
        }
    }
}

fn parse(message: &[u8]) -> Option<Generation> {
    if u16::from_ne_bytes([*message.get(4)?, *message.get(5)?]) != NEW_GENERATION {
        return None;
    }
    let (mut pid, mut name) = (0, String::new());
    let mut rest = message.get(HEADERS..)?;
    while let [a, b, c, d, ..] = *rest {
        let length = usize::from(u16::from_ne_bytes([a, b]));
        let value = rest.get(4..length)?;
        match u16::from_ne_bytes([c, d]) & 0x3fff {
            PROCESS_ID => pid = u32::from_be_bytes(value.try_into().ok()?),
            PROCESS_NAME => {
                let text = String::from_utf8_lossy(value);
                text.trim_end_matches('\0').clone_into(&mut name);
            }
            _ => {}
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Some(Generation { pid, name })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_message_is_read_without_harm(message: Vec<u8>) {
            parse(&message);
        }
    }

    #[test]
    fn a_generation_names_its_process() {
        let mut message = vec![0; 4];
        message.extend(NEW_GENERATION.to_ne_bytes());
        message.resize(HEADERS, 0);
        message.extend([8u16.to_ne_bytes(), PROCESS_ID.to_ne_bytes()].concat());
        message.extend(77u32.to_be_bytes());
        message.extend([8u16.to_ne_bytes(), PROCESS_NAME.to_ne_bytes()].concat());
        message.extend(*b"nft\0");
        let name = "nft".to_owned();
        assert_eq!(parse(&message), Some(Generation { pid: 77, name }));
        message[4] = 0;
        assert_eq!(parse(&message), None);
    }
}
