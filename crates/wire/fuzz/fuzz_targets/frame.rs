//! What a node hands over, vnet header and frame: whatever it is, it is cut or refused.
#![no_main]

use culvert_wire::packet::cut::{Cut, LONGEST_HEADER_BYTES};
use culvert_wire::packet::vnet::{self, Vnet};
use culvert_wire::packet::{checksum, layout};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((header, frame)) = bytes.split_first_chunk::<{ vnet::BYTES }>() else {
        return;
    };
    layout::is_udp(frame);
    assert!(layout::link_header_bytes(frame) >= 14);
    let Some(vnet) = Vnet::read(header) else {
        return;
    };
    if let Some(unfinished) = vnet.checksum {
        let (start, offset) = (
            usize::from(unfinished.start),
            usize::from(unfinished.offset),
        );
        checksum::complete(&mut frame.to_vec(), start, offset);
    }
    let cut = match vnet.super_packet {
        Some(packet) => Cut::of(frame, packet),
        None => Cut::of_datagram(frame, &vnet),
    };
    let Some(cut) = cut else { return };
    let mut payload_bytes = 0;
    let mut packet_bytes = Vec::new();
    for packet in 0..cut.packets() {
        cut.packet(frame, packet, &mut packet_bytes);
        assert_eq!(packet_bytes.len(), cut.frame_bytes(frame.len(), packet));
        payload_bytes += packet_bytes.len() - cut.layout().payload_at;
        cut.continues(frame, 0, packet, (&cut, frame, packet));
    }
    assert_eq!(payload_bytes, frame.len() - cut.layout().payload_at);
    let mut out = [0; LONGEST_HEADER_BYTES];
    cut.header(frame, 0, cut.packets(), &mut out);
});
