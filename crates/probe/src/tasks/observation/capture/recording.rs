//! A recording instead of an interface: the same questions.

use super::Parameters;
use super::count::Capture;
use super::evidence::{Evidence, Searched};
use crate::net::capture::packet_socket::Captured;
use crate::net::device::netlink::Link;
use crate::packet::marks::MARK;
use crate::packet::pcapng::{self, Reader};
use crate::protocol::failure::{Failure, during};
use crate::tasks::context::{Context, Started};
use crate::timing::clock;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

const ETHERNET_HEADER: usize = 14;

pub fn of_recording(
    parameters: &Parameters,
    context: &Context,
    link: Link,
    path: &Path,
) -> Result<Evidence, Failure> {
    let what = format!("recording {}", path.display());
    let file = File::open(path).map_err(during(&what))?;
    let mut reader = Reader::new(BufReader::new(file));
    let mut capture = Capture::new(parameters, link);
    let started_ns = clock::monotonic_ns();
    context.ready(Started { started_ns });
    let remedy = "give a pcapng file of Ethernet packets, whole";
    let broken = |error: pcapng::Broken| Failure::new(&what, error.to_string(), remedy);
    let (mut first_ns, mut last_ns) = (None, 0);
    while let Some(packet) = reader.next_packet().map_err(broken)? {
        if context.stop.requested() {
            break;
        }
        if let Some(time_ns) = packet.realtime_ns {
            first_ns.get_or_insert(time_ns);
            last_ns = time_ns.max(last_ns);
        }
        if let Some(packet) = from_ethernet(&packet, parameters.snaplen) {
            capture.count(&packet);
        }
    }
    let drops = u32::try_from(reader.drops()).unwrap_or(u32::MAX);
    let searched = reader.passed().map(|packets| Searched {
        packets,
        least_bytes: MARK as u32,
    });
    // From the first of its packets to the last.
    let span_ns = last_ns.saturating_sub(first_ns.unwrap_or(last_ns));
    Ok(capture.finish(drops, span_ns as f64 / 1e9, searched))
}

/// As an interface shows it; None if not even the Ethernet header was kept.
fn from_ethernet<'a>(packet: &pcapng::Packet<'a>, snaplen: usize) -> Option<Captured<'a>> {
    let (header, bytes) = packet.bytes.split_at_checked(ETHERNET_HEADER)?;
    Some(Captured {
        ethertype: u16::from_be_bytes([header[12], header[13]]),
        outgoing: packet.outgoing,
        wire_length: packet
            .wire_length
            .saturating_sub(ETHERNET_HEADER)
            .max(bytes.len()),
        realtime_ns: packet.realtime_ns,
        bytes: &bytes[..bytes.len().min(snaplen)],
    })
}
