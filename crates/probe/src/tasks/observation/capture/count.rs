//! Packets, one after another: counted, compared with the flow, searched for canaries.

use super::Parameters;
use super::evidence::{Doubtful, Evidence, Recorded, Searched};
use crate::net::capture::packet_socket::Captured;
use crate::net::device::netlink::Link;
use crate::packet::bytes::ByteCounts;
use crate::packet::marks::Marks;
use crate::packet::message::{Verdict, verdict};
use crate::packet::seen::{Seen, Sight, see};
use crate::protocol::values::to_hex;

const EXAMPLES: usize = 5;
/// Packets that are no message of the tunnel, and bytes of each, to be kept.
const DOUBTFUL: usize = 100;
const DOUBTFUL_BYTES: usize = 64;
/// Behind the IP header come the headers of transport and tunnel, which are not random.
const NOT_RANDOM: usize = 64;

pub struct Capture<'a> {
    parameters: &'a Parameters,
    marks: Option<Marks>,
    bytes: ByteCounts,
    evidence: Evidence,
}

impl<'a> Capture<'a> {
    pub fn new(parameters: &'a Parameters, link: Link) -> Capture<'a> {
        Capture {
            parameters,
            marks: Marks::new(&parameters.canaries),
            bytes: ByteCounts::default(),
            evidence: Evidence {
                device: link.name,
                mtu: link.mtu,
                sample_one_in: parameters.sample_one_in,
                ..Evidence::default()
            },
        }
    }

    /// Counted so far.
    pub fn packets(&self) -> u64 {
        self.evidence.packets
    }

    pub fn marks(&self) -> Option<&Marks> {
        self.marks.as_ref()
    }

    /// Packets with a mark, or not of the tunnel.
    pub fn found(&self) -> u64 {
        self.evidence.canary_hits.max(self.evidence.other.packets)
    }

    pub fn count(&mut self, packet: &Captured<'_>) {
        let sight = see(packet.ethertype, packet.bytes, packet.wire_length);
        if self.is_decrypted(packet, &sight) {
            self.evidence.decrypted += 1;
            return;
        }
        if self.is_beside(&sight) {
            self.evidence
                .beside
                .add(packet.outgoing, length_of(packet, &sight));
            return self.look_for_canaries(packet);
        }
        let evidence = &mut self.evidence;
        if packet.wire_length > evidence.mtu as usize {
            evidence.gso_packets += 1;
        }
        match sight {
            Sight::Neighbour => evidence.neighbour += 1,
            Sight::Ip(seen) => {
                evidence.packets += 1;
                evidence.bytes += seen.length as u64;
                evidence.directions.add(packet.outgoing, seen.length);
                evidence.fragments += u64::from(seen.fragment);
                let is_of_flow = |seen: &Seen<'_>| {
                    let flow = self.parameters.flow.as_ref();
                    flow.is_none_or(|flow| flow.has(seen))
                };
                if is_of_flow(&seen) {
                    self.count_matching(packet, &seen);
                } else if seen.quoted().is_some_and(|quoted| is_of_flow(&quoted)) {
                    evidence.about_flow.add(seen.length);
                } else {
                    self.count_other(seen.length, || seen.to_string());
                }
            }
            Sight::Unknown(ethertype) => {
                let length = packet.wire_length;
                evidence.packets += 1;
                evidence.bytes += length as u64;
                evidence.directions.add(packet.outgoing, length);
                self.count_other(length, || {
                    format!("EtherType {ethertype:#06x} len {length}")
                });
            }
        }
        self.look_for_canaries(packet);
    }

    fn is_beside(&self, sight: &Sight<'_>) -> bool {
        match (&self.parameters.scope, sight) {
            (Some(scope), Sight::Ip(seen)) => !scope.has(seen),
            (Some(_), Sight::Unknown(_)) => true,
            // To neighbours: of the link, whoever causes it.
            (Some(_), Sight::Neighbour) | (None, _) => false,
        }
    }

    fn is_decrypted(&self, packet: &Captured<'_>, sight: &Sight<'_>) -> bool {
        match (sight, &self.parameters.flow) {
            (Sight::Ip(seen), Some(flow)) => {
                self.parameters.decrypted_inward && !packet.outgoing && !flow.has(seen)
            }
            _ => false,
        }
    }

    fn count_matching(&mut self, packet: &Captured<'_>, seen: &Seen<'_>) {
        self.evidence.matching.add(packet.outgoing, seen.length);
        self.bytes
            .add(seen.behind_ip.get(NOT_RANDOM..).unwrap_or_default());
        self.judge(packet, seen);
        if self.evidence.recorded.len() < self.parameters.record {
            let recorded = record(packet, seen, self.parameters.snaplen_record);
            self.evidence.recorded.push(recorded);
        }
    }

    fn judge(&mut self, packet: &Captured<'_>, seen: &Seen<'_>) {
        let flow = self.parameters.flow.as_ref();
        let Some(part) = flow.and_then(|flow| flow.part_with(seen)) else {
            return;
        };
        let super_packet = packet.wire_length > self.evidence.mtu as usize;
        let doubtful: &mut Doubtful = match verdict(&part.messages, seen, super_packet) {
            Verdict::Fits => return,
            Verdict::Stranger => &mut self.evidence.strangers,
            Verdict::Structured => &mut self.evidence.structured,
            Verdict::Readable => &mut self.evidence.readable,
        };
        doubtful.packets += 1;
        if doubtful.recorded.len() < DOUBTFUL {
            doubtful.recorded.push(record(packet, seen, DOUBTFUL_BYTES));
        }
    }

    fn count_other(&mut self, length: usize, example: impl FnOnce() -> String) {
        let other = &mut self.evidence.other;
        other.packets += 1;
        other.bytes += length as u64;
        if other.examples.len() < EXAMPLES {
            other.examples.push(example());
        }
    }

    fn look_for_canaries(&mut self, packet: &Captured<'_>) {
        let marks = self.marks.as_ref();
        if !marks.is_some_and(|marks| marks.are_in(packet.bytes)) {
            return;
        }
        self.evidence.canary_hits += 1;
        self.evidence.canary_example.get_or_insert_with(|| {
            match see(packet.ethertype, packet.bytes, packet.wire_length) {
                Sight::Ip(seen) => seen.to_string(),
                _ => format!("EtherType {:#06x}", packet.ethertype),
            }
        });
    }

    pub fn finish(mut self, drops: u32, seconds: f64, searched: Option<Searched>) -> Evidence {
        self.evidence.kernel_drops = drops;
        self.evidence.searched = searched;
        self.evidence.randomness = self.bytes.randomness();
        self.evidence.seconds = seconds;
        self.evidence
    }
}

fn record(packet: &Captured<'_>, seen: &Seen<'_>, most: usize) -> Recorded {
    Recorded {
        realtime_ns: packet.realtime_ns,
        outgoing: packet.outgoing,
        protocol: seen.protocol,
        source_port: seen.source_port,
        destination_port: seen.destination_port,
        length: seen.length,
        mss: seen.announced_mss(),
        payload: to_hex(&seen.payload[..seen.payload.len().min(most)]),
    }
}

fn length_of(packet: &Captured<'_>, sight: &Sight<'_>) -> usize {
    match sight {
        Sight::Ip(seen) => seen.length,
        Sight::Neighbour | Sight::Unknown(_) => packet.wire_length,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    #[test]
    fn a_message_to_neighbours_is_searched_too() {
        let canary: Vec<u8> = (0..32).map(|at| 0xa0 | (7 * at) & 0x0f).collect();
        let parameters = serde_json::json!({"device": "", "canaries": [to_hex(&canary)],
            "flow": {"protocol": 17, "ports": [51820]}});
        let parameters: Parameters = serde_json::from_value(parameters).unwrap();
        let mut capture = Capture::new(&parameters, Link::all_of(vec![]));
        for payload in [&canary[..], b"a report of a member"] {
            let mut bytes = Vec::new();
            PacketBuilder::ipv4([198, 18, 0, 1], [198, 18, 0, 2], 1)
                .write(&mut bytes, etherparse::IpNumber::IGMP, payload)
                .unwrap();
            capture.count(&Captured {
                ethertype: 0x0800,
                outgoing: false,
                wire_length: bytes.len(),
                realtime_ns: None,
                bytes: &bytes,
            });
        }
        let evidence = capture.finish(0, 1.0, None);
        assert_eq!((evidence.neighbour, evidence.canary_hits), (2, 1));
        assert_eq!((evidence.packets, evidence.other.packets), (0, 0));
    }
}
