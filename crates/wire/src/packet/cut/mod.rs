//! Super-packets and the packets of the wire that they stand for.
//!
//! A super-packet is one header and the payload of many packets. It is not copied apart: the cut
//! finds each packet's payload, and makes the header of any run of them, be it one packet
//! or, for a device that takes super-packets, several.

mod header;

#[cfg(test)]
mod tests;

use crate::packet::checksum;
use crate::packet::layout::{Layout, Network, Transport};
use crate::packet::vnet::{Segmentation, SuperPacket, Unfinished, Vnet};

/// Ethernet, two VLAN tags, the longest IPv4 and TCP headers are 142; the rest is for IPv6
/// extensions. A longer one is not cut.
pub const LONGEST_HEADER_BYTES: usize = 256;

const TCP_CHECKSUM_AT: usize = 16;
const UDP_CHECKSUM_AT: usize = 6;

/// How a frame is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    layout: Layout,
    segment_bytes: usize,
    packets: u16,
}

impl Cut {
    /// How to cut the frame that `vnet` calls a super-packet; None if it can't be that.
    pub fn of(frame: &[u8], packet: SuperPacket) -> Option<Self> {
        let layout = Layout::of(frame)?;
        let fits = match packet.segmentation {
            Segmentation::TcpV4 => {
                layout.transport == Transport::Tcp && matches!(layout.network, Network::V4 { .. })
            }
            Segmentation::TcpV6 => {
                layout.transport == Transport::Tcp && matches!(layout.network, Network::V6 { .. })
            }
            Segmentation::Udp => layout.transport == Transport::Udp,
        };
        let payload_bytes = frame.len() - layout.payload_at;
        let whole = fits && layout.payload_at <= LONGEST_HEADER_BYTES && packet.segment_bytes > 0;
        if !whole || payload_bytes == 0 {
            return None;
        }
        let segment_bytes = usize::from(packet.segment_bytes);
        Some(Self {
            layout,
            segment_bytes,
            packets: u16::try_from(payload_bytes.div_ceil(segment_bytes)).ok()?,
        })
    }

    /// A datagram that is no super-packet, as one of one packet: others may be joined to it. Only
    /// if its checksum is left to the device: a wrong one must stay wrong.
    pub fn of_datagram(frame: &[u8], vnet: &Vnet) -> Option<Self> {
        let layout = Layout::of(frame)?;
        let payload_bytes = u16::try_from(frame.len() - layout.payload_at).ok()?;
        let unfinished = vnet.checksum?;
        let joinable = layout.transport == Transport::Udp
            && vnet.super_packet.is_none()
            && layout.payload_at <= LONGEST_HEADER_BYTES
            && usize::from(unfinished.start) == layout.transport_at
            && usize::from(unfinished.offset) == UDP_CHECKSUM_AT
            && payload_bytes > 0;
        joinable.then_some(Self {
            layout,
            segment_bytes: usize::from(payload_bytes),
            packets: 1,
        })
    }

    /// Whether packet `packet` of `other_frame` can follow, in one UDP super-packet, `before`
    /// packets that start with packet `first` of `frame`.
    pub fn continues(
        &self,
        frame: &[u8],
        first: u16,
        before: u16,
        (other, other_frame, packet): (&Self, &[u8], u16),
    ) -> bool {
        let at = self.layout.transport_at;
        let same = |range: std::ops::Range<usize>| frame[range.clone()] == other_frame[range];
        if self.layout.transport != Transport::Udp || self.layout != other.layout {
            return false;
        }
        // all up to the ports but lengths, identification and checksums
        match self.layout.network {
            Network::V6 { at: ip } => same(0..ip + 4) && same(ip + 6..at + 4),
            Network::V4 { at: ip } => {
                let id = |frame: &[u8], packet: u16| {
                    u16::from_be_bytes([frame[ip + 4], frame[ip + 5]]).wrapping_add(packet)
                };
                // With DF the identification means nothing (RFC 6864).
                let atomic = frame[ip + 6] & 0x40 != 0;
                same(0..ip + 2)
                    && same(ip + 6..ip + 10)
                    && same(ip + 12..at + 4)
                    && (atomic || id(frame, first.wrapping_add(before)) == id(other_frame, packet))
            }
        }
    }

    pub fn packets(&self) -> u16 {
        self.packets
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    pub fn segment_bytes(&self) -> usize {
        self.segment_bytes
    }

    /// Where in the frame the payload of the packets from `first` up to `end` is.
    pub fn payload(&self, frame_bytes: usize, first: u16, end: u16) -> std::ops::Range<usize> {
        let place = |packet: u16| {
            let at = self.layout.payload_at + usize::from(packet) * self.segment_bytes;
            at.min(frame_bytes)
        };
        place(first)..place(end)
    }

    /// Bytes of the frame that one packet is on the wire.
    pub fn frame_bytes(&self, frame_bytes: usize, packet: u16) -> usize {
        self.layout.payload_at + self.payload(frame_bytes, packet, packet + 1).len()
    }

    /// The header of the packets from `first` up to `end`, their checksum left to the device.
    ///
    /// Returns how many bytes of `header` it takes, and what to say about it.
    pub fn header(
        &self,
        frame: &[u8],
        first: u16,
        end: u16,
        header: &mut [u8; LONGEST_HEADER_BYTES],
    ) -> (usize, Vnet) {
        let payload_bytes = self.payload(frame.len(), first, end).len();
        let bytes = self.start_header(frame, first, payload_bytes, header);
        if self.layout.transport == Transport::Tcp {
            self.fix_tcp(header, first, end);
        }
        (bytes, self.finish_header(header, payload_bytes))
    }

    /// The header of a UDP super-packet of `payload_bytes` that starts with packet `first` of this
    /// frame and goes on with packets of other frames.
    pub fn joined_header(
        &self,
        frame: &[u8],
        first: u16,
        payload_bytes: usize,
        header: &mut [u8; LONGEST_HEADER_BYTES],
    ) -> (usize, Vnet) {
        let bytes = self.start_header(frame, first, payload_bytes, header);
        (bytes, self.finish_header(header, payload_bytes))
    }

    fn start_header(
        &self,
        frame: &[u8],
        first: u16,
        payload_bytes: usize,
        header: &mut [u8; LONGEST_HEADER_BYTES],
    ) -> usize {
        let bytes = self.layout.payload_at;
        header[..bytes].copy_from_slice(&frame[..bytes]);
        self.fix_network(header, self.transport_bytes(payload_bytes), first);
        bytes
    }

    fn finish_header(&self, header: &mut [u8], payload_bytes: usize) -> Vnet {
        let at = self.layout.transport_at;
        let transport_bytes = self.transport_bytes(payload_bytes);
        let offset = match self.layout.transport {
            Transport::Tcp => TCP_CHECKSUM_AT,
            Transport::Udp => {
                header[at + 4..at + 6].copy_from_slice(&(transport_bytes as u16).to_be_bytes());
                UDP_CHECKSUM_AT
            }
        };
        let pseudo = self.pseudo_header_sum(header, transport_bytes);
        header[at + offset..at + offset + 2].copy_from_slice(&pseudo.to_be_bytes());
        Vnet {
            checksum: Some(Unfinished {
                start: at as u16,
                offset: offset as u16,
            }),
            valid: false,
            super_packet: (payload_bytes > self.segment_bytes).then(|| self.super_packet()),
        }
    }

    fn transport_bytes(&self, payload_bytes: usize) -> usize {
        self.layout.payload_at - self.layout.transport_at + payload_bytes
    }

    /// One packet as it is on a wire, its checksum complete.
    pub fn packet(&self, frame: &[u8], packet: u16, out: &mut Vec<u8>) {
        let mut header = [0; LONGEST_HEADER_BYTES];
        let (bytes, vnet) = self.header(frame, packet, packet + 1, &mut header);
        out.clear();
        out.extend_from_slice(&header[..bytes]);
        out.extend_from_slice(&frame[self.payload(frame.len(), packet, packet + 1)]);
        if let Some(Unfinished { start, offset }) = vnet.checksum {
            checksum::complete(out, usize::from(start), usize::from(offset));
        }
    }

    fn super_packet(&self) -> SuperPacket {
        SuperPacket {
            segmentation: match (self.layout.transport, self.layout.network) {
                (Transport::Udp, _) => Segmentation::Udp,
                (Transport::Tcp, Network::V4 { .. }) => Segmentation::TcpV4,
                (Transport::Tcp, Network::V6 { .. }) => Segmentation::TcpV6,
            },
            // it came as one
            segment_bytes: self.segment_bytes as u16,
            header_bytes: self.layout.payload_at as u16,
        }
    }
}
