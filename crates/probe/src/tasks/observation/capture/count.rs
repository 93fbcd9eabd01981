//! Packets, one after another: counted, compared with the flow, searched for canaries.

use super::Parameters;
use super::evidence::{Doubtful, Evidence, InCommon, Recorded, Searched};
use crate::net::capture::packet_socket::Captured;
use crate::net::device::netlink::Link;
use crate::packet::bytes::ByteCounts;
use crate::packet::ends::Ends;
use crate::packet::marks::Marks;
use crate::packet::message::{OF_A_SUPER_PACKET, Verdict, judge};
use crate::packet::neighbour::is_standard;
use crate::packet::seen::{Seen, Sight, see};
use crate::packet::table::{Kind, Table};
use crate::protocol::values::to_hex;
use crate::timing::clock;

const EXAMPLES: usize = 5;
/// Packets that are no message of the tunnel, and bytes of each, to be kept.
const DOUBTFUL: usize = 100;
const DOUBTFUL_BYTES: usize = 64;
/// Behind the IP header come the headers of transport and tunnel, which are not random.
const NOT_RANDOM: usize = 64;

pub struct Capture<'a> {
    parameters: &'a Parameters,
    marks: Option<Marks>,
    ends: Ends,
    bytes: ByteCounts,
    table: Table<Recorded>,
    evidence: Evidence,
}

impl<'a> Capture<'a> {
    pub fn new(parameters: &'a Parameters, link: Link) -> Capture<'a> {
        Capture {
            parameters,
            marks: Marks::new(&parameters.canaries),
            ends: Ends::new(&parameters.inner_ends),
            bytes: ByteCounts::default(),
            table: Table::new(clock::monotonic_ns()),
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
        if self.is_beside(packet, &sight) {
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
            Sight::Neighbour if is_standard(packet.ethertype, packet.bytes) => {
                evidence.neighbour += 1;
            }
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
                } else if let Some(quoted) = seen.quoted().filter(is_of_flow) {
                    evidence.about_flow.add(seen.length);
                    // It is a part of a packet, as a fragment is.
                    self.judge(
                        packet,
                        &Seen {
                            fragment: true,
                            ..quoted
                        },
                    );
                } else {
                    self.count_other(seen.length, || seen.to_string());
                }
            }
            Sight::Neighbour | Sight::Unknown(_) => {
                let (length, ethertype) = (packet.wire_length, packet.ethertype);
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

    fn is_beside(&self, packet: &Captured<'_>, sight: &Sight<'_>) -> bool {
        match (&self.parameters.scope, sight) {
            (Some(scope), Sight::Ip(seen)) => !scope.has(seen),
            (Some(_), Sight::Unknown(_)) => true,
            // To neighbours: of the link, whoever causes it.
            (Some(_), Sight::Neighbour) => !is_standard(packet.ethertype, packet.bytes),
            (None, _) => false,
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
        let judged = judge(&part.messages, seen, super_packet);
        let doubtful: &mut Doubtful = match judged.verdict {
            Verdict::Fits => {
                let kind = Kind {
                    // Each message of each part has a number of its own.
                    message: judged
                        .message
                        .filter(|_| !seen.fragment)
                        .map(|number| &raw const part.messages[number] as usize),
                    outgoing: packet.outgoing,
                };
                let mut bytes = judged.ciphertext;
                if bytes.is_empty() {
                    return; // of a stream
                }
                if self.parameters.joined {
                    bytes = &bytes[..bytes.len().min(OF_A_SUPER_PACKET)];
                }
                return self
                    .table
                    .add(kind, bytes, || record(packet, seen, DOUBTFUL_BYTES));
            }
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
        if self.ends.are_in(packet.bytes) {
            self.evidence.inner_ends.packets += 1;
            let example = &mut self.evidence.inner_ends.example;
            example.get_or_insert_with(|| name_of(packet));
        }
        let marks = self.marks.as_ref();
        if !marks.is_some_and(|marks| marks.are_in(packet.bytes)) {
            return;
        }
        self.evidence.canary_hits += 1;
        let example = &mut self.evidence.canary_example;
        example.get_or_insert_with(|| name_of(packet));
    }

    pub fn finish(mut self, drops: u32, seconds: f64, searched: Option<Searched>) -> Evidence {
        self.evidence.kernel_drops = drops;
        self.evidence.searched = searched;
        self.evidence.randomness = self.bytes.randomness();
        self.evidence.in_common = in_common(self.table);
        self.evidence.seconds = seconds;
        self.evidence
    }
}

fn in_common(table: Table<Recorded>) -> InCommon {
    let mut common = table.common();
    let packets = common.sharing.len() as u64;
    common.sharing.truncate(DOUBTFUL);
    InCommon {
        packets: common.rows,
        sharing: Doubtful {
            packets,
            recorded: common.sharing,
        },
        columns: common.columns,
        structured: common.structured,
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

fn name_of(packet: &Captured<'_>) -> String {
    match see(packet.ethertype, packet.bytes, packet.wire_length) {
        Sight::Ip(seen) => seen.to_string(),
        _ => format!("EtherType {:#06x}", packet.ethertype),
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
    use crate::timing::random;
    use etherparse::PacketBuilder;

    #[test]
    fn a_message_to_neighbours_is_searched_too() {
        let canary: Vec<u8> = (0..32).map(|at| 0xa0 | (7 * at) & 0x0f).collect();
        let parameters = serde_json::json!({"device": "", "canaries": [to_hex(&canary)],
            "flow": {"protocol": 17, "ports": [51820]}});
        let parameters: Parameters = serde_json::from_value(parameters).unwrap();
        let mut capture = Capture::new(&parameters, Link::all_of(vec![]));
        let report = [0x16, 0, 1, 2, 224, 0, 0, 251];
        for payload in [&canary[..], &report] {
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
        assert_eq!((evidence.neighbour, evidence.canary_hits), (1, 1));
        // What has no form of IGMP is no message to neighbours.
        assert_eq!((evidence.packets, evidence.other.packets), (1, 1));
    }

    fn evidence_of(parameters: serde_json::Value, packets: &[Vec<u8>]) -> Evidence {
        let parameters: Parameters = serde_json::from_value(parameters).unwrap();
        let mut link = Link::all_of(vec![]);
        link.mtu = 1500;
        let mut capture = Capture::new(&parameters, link);
        for bytes in packets {
            capture.count(&Captured {
                ethertype: 0x0800,
                outgoing: true,
                wire_length: bytes.len(),
                realtime_ns: None,
                bytes,
            });
        }
        capture.finish(0, 1.0, None)
    }

    fn message(seed: u64, end: &[u8]) -> Vec<u8> {
        let mut state = seed;
        let noise = std::iter::repeat_with(|| (random::next(&mut state) >> 56) as u8);
        let payload = [&[4, 0, 0, 0][..], &noise.take(80).collect::<Vec<_>>(), end].concat();
        let mut bytes = Vec::new();
        PacketBuilder::ipv4([198, 18, 0, 1], [198, 18, 0, 2], 64)
            .udp(51820, 51820)
            .write(&mut bytes, &payload)
            .unwrap();
        bytes
    }

    fn of_wireguard() -> serde_json::Value {
        let data = serde_json::json!({"fixed": [[0, 255, 4]], "least": 32, "noise": [16, 0]});
        serde_json::json!({"device": "", "inner_ends": ["10.1.0.1", "10.1.0.2"],
            "flow": {"protocol": 17, "ports": [51820], "messages": [data]}})
    }

    #[test]
    fn packets_are_compared_with_each_other() {
        let honest: Vec<_> = (0..20).map(|seed| message(seed, &[])).collect();
        let common = evidence_of(of_wireguard(), &honest).in_common;
        assert_eq!((common.packets, common.columns), (20, 68));
        assert_eq!((common.sharing.packets, common.structured.len()), (0, 0));

        let constant = message(99, &[])[32..64].to_vec();
        let padded: Vec<_> = (0..20).map(|seed| message(seed, &constant)).collect();
        let common = evidence_of(of_wireguard(), &padded).in_common;
        assert_eq!(common.sharing.packets, 19);
        assert_eq!(common.sharing.recorded.len(), 19);
        assert_eq!(common.structured, (68..100).collect::<Vec<_>>());

        let mut joined = of_wireguard();
        joined["joined"] = true.into();
        let common = evidence_of(joined, &padded).in_common;
        assert_eq!(
            (common.columns, common.sharing.packets),
            (64, 0),
            "headers may follow"
        );
    }

    #[test]
    fn an_inner_header_is_found() {
        let mut inner = Vec::new();
        PacketBuilder::ipv4([10, 1, 0, 2], [10, 1, 0, 1], 64)
            .udp(1, 2)
            .write(&mut inner, &[])
            .unwrap();
        let found = evidence_of(of_wireguard(), &[message(1, &[]), message(2, &inner)]).inner_ends;
        assert_eq!(found.packets, 1);
        assert!(found.example.unwrap().contains("udp 51820>51820"));
    }

    #[test]
    fn what_an_error_quotes_is_judged_as_the_packet() {
        let error = |quoted: &[u8]| {
            let mut bytes = Vec::new();
            PacketBuilder::ipv4([198, 18, 0, 2], [198, 18, 0, 1], 64)
                .write(
                    &mut bytes,
                    etherparse::IpNumber::ICMP,
                    &[&[3, 3, 0, 0, 0, 0, 0, 0][..], quoted].concat(),
                )
                .unwrap();
            bytes
        };
        let cut = message(1, &[])[..92].to_vec();
        let evidence = evidence_of(of_wireguard(), &[error(&cut)]);
        assert_eq!(evidence.about_flow.packets, 1);
        assert_eq!(
            (evidence.strangers.packets, evidence.structured.packets),
            (0, 0)
        );

        let mut text = cut.clone();
        text[48..].fill(b'x');
        let evidence = evidence_of(of_wireguard(), &[error(&text)]);
        assert_eq!(evidence.structured.packets, 1);

        let mut another = message(2, &[])[..92].to_vec();
        another[60..80].copy_from_slice(&cut[60..80]);
        let evidence = evidence_of(of_wireguard(), &[error(&cut), error(&another)]);
        assert_eq!(evidence.in_common.sharing.packets, 1);
    }
}
