//! The fields of a header that differ between the packets of a super-packet.

use super::Cut;
use crate::packet::checksum;
use crate::packet::layout::{Network, Transport};

pub(super) const TCP_FIN: u8 = 0x01;
pub(super) const TCP_PSH: u8 = 0x08;
pub(super) const TCP_CWR: u8 = 0x80;

impl Cut {
    pub(super) fn fix_network(&self, header: &mut [u8], transport_bytes: usize, first: u16) {
        let layout = &self.layout;
        match layout.network {
            Network::V4 { at } => {
                let header_bytes = layout.transport_at - at;
                let length = (header_bytes + transport_bytes) as u16;
                header[at + 2..at + 4].copy_from_slice(&length.to_be_bytes());
                // each packet has its own, as the kernel numbers them (inet_gso_segment)
                let id = u16::from_be_bytes([header[at + 4], header[at + 5]]).wrapping_add(first);
                header[at + 4..at + 6].copy_from_slice(&id.to_be_bytes());
                header[at + 10..at + 12].fill(0);
                let sum = !checksum::fold(checksum::sum(&header[at..layout.transport_at]));
                header[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
            }
            Network::V6 { at } => {
                let length = (layout.transport_at - at - 40 + transport_bytes) as u16;
                header[at + 4..at + 6].copy_from_slice(&length.to_be_bytes());
            }
        }
    }

    /// Sequence number and flags.
    pub(super) fn fix_tcp(&self, header: &mut [u8], first: u16, end: u16) {
        let at = self.layout.transport_at;
        let field = &mut header[at + 4..at + 8];
        let before = u32::from_be_bytes([field[0], field[1], field[2], field[3]]);
        let ahead = u32::from(first).wrapping_mul(self.segment_bytes as u32);
        field.copy_from_slice(&before.wrapping_add(ahead).to_be_bytes());
        if end < self.packets {
            header[at + 13] &= !(TCP_FIN | TCP_PSH);
        }
        if first > 0 {
            header[at + 13] &= !TCP_CWR;
        }
    }

    pub(super) fn pseudo_header_sum(&self, header: &[u8], transport_bytes: usize) -> u16 {
        let addresses = match self.layout.network {
            Network::V4 { at } => &header[at + 12..at + 20],
            Network::V6 { at } => &header[at + 8..at + 40],
        };
        let protocol = match self.layout.transport {
            Transport::Tcp => 6,
            Transport::Udp => 17,
        };
        checksum::fold(checksum::sum(addresses) + protocol + transport_bytes as u64)
    }
}
