//! Super-packets and the packets of the wire that they stand for.
//!
//! A super-packet is one header and the payload of many packets. It is not copied apart: the cut
//! says where each packet's payload is, and makes the header of any run of them, be it one packet
//! or, for a device that takes super-packets, several.

use crate::packet::checksum;
use crate::packet::layout::{Layout, Network, Transport};
use crate::packet::vnet::{Segmentation, SuperPacket, Unfinished, Vnet};

/// Ethernet, two VLAN tags, the longest IPv4 and TCP headers are 142; the rest is for IPv6
/// extensions. A longer one is not cut.
pub const LONGEST_HEADER_BYTES: usize = 256;

const TCP_FIN: u8 = 0x01;
const TCP_PSH: u8 = 0x08;
const TCP_CWR: u8 = 0x80;
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

    fn fix_network(&self, header: &mut [u8], transport_bytes: usize, first: u16) {
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
    fn fix_tcp(&self, header: &mut [u8], first: u16, end: u16) {
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

    fn pseudo_header_sum(&self, header: &[u8], transport_bytes: usize) -> u16 {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAYLOAD: std::ops::Range<usize> = 1..5000;

    /// A super-packet as the kernel makes it: 14 bytes of Ethernet, IPv4 or IPv6, TCP or UDP.
    fn super_frame(v6: bool, udp: bool, payload: &[u8]) -> Vec<u8> {
        let mut transport = vec![0x13, 0x88, 0x13, 0x89];
        let protocol = if udp {
            transport.extend((8 + payload.len() as u16).to_be_bytes());
            transport.extend([0, 0]);
            17
        } else {
            transport.extend(0xffff_ff00_u32.to_be_bytes());
            transport.extend([
                0,
                0,
                0,
                1,
                0x50,
                0x80 | 0x08 | 0x01 | 0x10,
                1,
                0,
                0,
                0,
                0,
                0,
            ]);
            6
        };
        transport.extend(payload);
        let length = transport.len() as u16;
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        if v6 {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            frame.extend(length.to_be_bytes());
            frame.extend([protocol, 64]);
            frame.extend([0xfd; 32]);
        } else {
            frame.extend([0x08, 0x00, 0x45, 0]);
            frame.extend((20 + length).to_be_bytes());
            frame.extend([
                0xff, 0xfe, 0x40, 0, 64, protocol, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2,
            ]);
        }
        frame.extend(transport);
        frame
    }

    fn segmentation(v6: bool, udp: bool) -> Segmentation {
        match (v6, udp) {
            (_, true) => Segmentation::Udp,
            (true, false) => Segmentation::TcpV6,
            (false, false) => Segmentation::TcpV4,
        }
    }

    fn cut(frame: &[u8], v6: bool, udp: bool, segment_bytes: u16) -> Cut {
        let packet = SuperPacket {
            segmentation: segmentation(v6, udp),
            segment_bytes,
            header_bytes: 0,
        };
        Cut::of(frame, packet).expect("it is one")
    }

    /// All checksums of a frame without options are right, as etherparse works them out.
    ///
    /// TCP's are compared as what they are, ones' complement, in which 0 and 0xffff are one number:
    /// as the kernel (`skb_checksum_help`), the wire writes 0xffff, etherparse 0.
    fn verify(packet: &[u8]) {
        let sliced = etherparse::SlicedPacket::from_ethernet(packet).expect("a packet");
        let (net, transport) = (
            sliced.net.expect("IP"),
            sliced.transport.expect("transport"),
        );
        match net {
            etherparse::NetSlice::Ipv4(ip) => {
                let header = ip.header().to_header();
                assert_eq!(header.header_checksum, header.calc_header_checksum());
                assert_eq!(usize::from(header.total_len), packet.len() - 14);
                match transport {
                    etherparse::TransportSlice::Tcp(tcp) => {
                        let right = tcp.calc_checksum_ipv4(header.source, header.destination);
                        assert_eq!(tcp.checksum() % 0xffff, right.expect("short") % 0xffff);
                    }
                    etherparse::TransportSlice::Udp(udp) => {
                        assert_eq!(usize::from(udp.length()), packet.len() - 34);
                        let right = udp.to_header().calc_checksum_ipv4(&header, udp.payload());
                        assert_eq!(udp.checksum(), right.expect("short"));
                    }
                    _ => panic!("neither"),
                }
            }
            etherparse::NetSlice::Ipv6(ip) => {
                let header = ip.header().to_header();
                assert_eq!(usize::from(header.payload_length), packet.len() - 54);
                match transport {
                    etherparse::TransportSlice::Tcp(tcp) => {
                        let right = tcp.calc_checksum_ipv6(header.source, header.destination);
                        assert_eq!(tcp.checksum() % 0xffff, right.expect("short") % 0xffff);
                    }
                    etherparse::TransportSlice::Udp(udp) => {
                        let right = udp.to_header().calc_checksum_ipv6(&header, udp.payload());
                        assert_eq!(udp.checksum(), right.expect("short"));
                    }
                    _ => panic!("neither"),
                }
            }
            _ => panic!("not IP"),
        }
    }

    proptest! {
        #[test]
        fn the_packets_are_those_of_a_wire(
            v6: bool, udp: bool, payload in prop::collection::vec(any::<u8>(), PAYLOAD),
            segment_bytes in 1u16..1500,
        ) {
            let frame = super_frame(v6, udp, &payload);
            let cut = cut(&frame, v6, udp, segment_bytes);
            let mut joined: Vec<u8> = Vec::new();
            let mut out = Vec::new();
            for packet in 0..cut.packets() {
                cut.packet(&frame, packet, &mut out);
                verify(&out);
                prop_assert_eq!(out.len(), cut.frame_bytes(frame.len(), packet));
                joined.extend(&out[cut.layout().payload_at..]);
                if !udp {
                    let at = cut.layout().transport_at;
                    let sequence = u32::from_be_bytes(out[at + 4..at + 8].try_into().expect("4"));
                    let ahead = u32::from(packet) * u32::from(segment_bytes);
                    prop_assert_eq!(sequence, 0xffff_ff00_u32.wrapping_add(ahead));
                    let last = packet + 1 == cut.packets();
                    prop_assert_eq!(out[at + 13] & TCP_FIN != 0, last);
                    prop_assert_eq!(out[at + 13] & TCP_PSH != 0, last);
                    prop_assert_eq!(out[at + 13] & TCP_CWR != 0, packet == 0);
                }
                if !v6 {
                    let id = u16::from_be_bytes([out[18], out[19]]);
                    prop_assert_eq!(id, 0xfffe_u16.wrapping_add(packet));
                }
            }
            prop_assert_eq!(joined, payload);
        }

        #[test]
        fn a_run_cut_again_gives_the_same_packets(
            v6: bool, udp: bool, payload in prop::collection::vec(any::<u8>(), PAYLOAD),
            segment_bytes in 1u16..1500, first: u16, count: u16,
        ) {
            let frame = super_frame(v6, udp, &payload);
            let whole = cut(&frame, v6, udp, segment_bytes);
            let first = first % whole.packets();
            let end = first + 1 + count % (whole.packets() - first);
            let mut header = [0; LONGEST_HEADER_BYTES];
            let (bytes, vnet) = whole.header(&frame, first, end, &mut header);
            let mut run = header[..bytes].to_vec();
            run.extend(&frame[whole.payload(frame.len(), first, end)]);
            prop_assert_eq!(vnet.super_packet.is_some(), end - first > 1);
            if vnet.super_packet.is_some() {
                let again = cut(&run, v6, udp, segment_bytes);
                prop_assert_eq!(again.packets(), end - first);
                let (mut one, mut other) = (Vec::new(), Vec::new());
                for packet in 0..again.packets() {
                    again.packet(&run, packet, &mut one);
                    whole.packet(&frame, first + packet, &mut other);
                    prop_assert_eq!(&one, &other);
                }
            }
        }

        #[test]
        fn no_bytes_panic(
            mut bytes in prop::collection::vec(any::<u8>(), 0..300), kind in 0u8..3, start in 0u8..8,
            segment_bytes: u16,
        ) {
            // most random bytes are no IP: help them
            for (at, value) in match start {
                0 => vec![(12, 8), (13, 0), (14, 0x45), (20, 0), (21, 0), (23, 6)],
                1 => vec![(12, 8), (13, 0), (14, 0x4f), (20, 0), (21, 0), (23, 17)],
                2 => vec![(12, 0x86), (13, 0xdd), (14, 0x60), (20, 0)],
                3 => vec![(12, 0x81), (13, 0), (16, 8), (17, 0), (18, 0x45), (24, 0), (25, 0)],
                _ => vec![],
            } {
                if let Some(byte) = bytes.get_mut(at) { *byte = value; }
            }
            let segmentation =
                [Segmentation::TcpV4, Segmentation::TcpV6, Segmentation::Udp][usize::from(kind)];
            let packet = SuperPacket { segmentation, segment_bytes, header_bytes: 0 };
            let mut out = Vec::new();
            if let Some(cut) = Cut::of(&bytes, packet) {
                for packet in 0..cut.packets() {
                    cut.packet(&bytes, packet, &mut out);
                }
            }
            crate::packet::layout::is_udp(&bytes);
            crate::packet::layout::link_header_bytes(&bytes);
        }
    }
}
