//! The cut, against an independent implementation of packets.

use super::header::{TCP_CWR, TCP_FIN, TCP_PSH};
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
