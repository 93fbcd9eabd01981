//! `capture`: what really crosses an interface: the evidence for every proof. It comes from the
//! interface, or from a recording of what passed there.

use crate::clock;
use crate::context::{Context, Started};
use crate::failure::{Failure, during};
use crate::net::filter::Direction;
use crate::net::netlink::{Link, links};
use crate::net::packet_socket::{Captured, PacketSocket};
use crate::packet::bytes::{ByteCounts, Randomness};
use crate::packet::pcapng::{self, Reader};
use crate::packet::seen::{Flow, Seen, Sight, see};
use crate::values::{Canary, Seconds, to_hex};
use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::BufReader;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

const MAX_SNAPLEN: usize = 1 << 16;
const DEFAULT_SNAPLEN: usize = 2048;
const MAX_RECORD: usize = 100_000;
const ETHERNET_HEADER: usize = 14;
const EXAMPLES: usize = 5;
/// Behind the IP header come the headers of transport and tunnel, which are not random.
const NOT_RANDOM: usize = 64;
/// What the kernel may hold back for us; see `GATHER_NS`.
const RECEIVE_BUFFER: usize = 64 << 20;
/// Packets are gathered for so long before they are read: waking up for each would cost those
/// that are being measured. Their timestamps are the kernel's.
const GATHER_NS: u64 = 2_000_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    device: String,
    /// A pcapng file: what has passed at the device, instead of what passes from now on.
    file: Option<PathBuf>,
    /// The tunnel's packets; if none is given, all IP packets match.
    flow: Option<Flow>,
    /// The kernel shows what it has decrypted as packets that the device receives: such as are not
    /// of the flow are counted, and not looked at.
    #[serde(default)]
    decrypted_inward: bool,
    /// Bytes that must not be seen.
    #[serde(default)]
    canaries: Vec<Canary>,
    /// How many matching packets to record, the first of them.
    #[serde(default)]
    record: usize,
    /// How many bytes of the payload of each to record.
    #[serde(default)]
    snaplen_record: usize,
    /// 1: all packets; N: a random one in N, chosen by the kernel.
    #[serde(default = "all")]
    sample_one_in: u32,
    #[serde(default = "both")]
    direction: Direction,
    /// How many bytes of each packet to look at.
    #[serde(default = "default_snaplen")]
    snaplen: usize,
    #[serde(default = "an_hour")]
    duration_max_s: Seconds,
}

fn all() -> u32 {
    1
}

fn both() -> Direction {
    Direction::Both
}

fn default_snaplen() -> usize {
    DEFAULT_SNAPLEN
}

fn an_hour() -> Seconds {
    Seconds::new(3600.0).expect("an hour is in range")
}

#[derive(Debug, Default, Clone, Copy, Serialize)]
struct Count {
    packets: u64,
    bytes: u64,
}

impl Count {
    fn add(&mut self, length: usize) {
        self.packets += 1;
        self.bytes += length as u64;
    }
}

#[derive(Debug, Default, Serialize)]
struct PerDirection {
    out: Count,
    #[serde(rename = "in")]
    inward: Count,
}

impl PerDirection {
    fn add(&mut self, outgoing: bool, length: usize) {
        if outgoing {
            self.out.add(length);
        } else {
            self.inward.add(length);
        }
    }
}

#[derive(Debug, Default, Serialize)]
struct Other {
    packets: u64,
    bytes: u64,
    examples: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Recorded {
    realtime_ns: Option<u64>,
    outgoing: bool,
    protocol: u8,
    source_port: u16,
    destination_port: u16,
    length: usize,
    /// Of a SYN or SYN-ACK.
    mss: Option<u16>,
    payload: String,
}

/// Bytes are those of IP packets.
#[derive(Debug, Default, Serialize)]
pub struct Evidence {
    device: String,
    mtu: u32,
    sample_one_in: u32,
    packets: u64,
    bytes: u64,
    directions: PerDirection,
    matching: PerDirection,
    /// ICMP errors that quote a packet of the flow.
    about_flow: Count,
    other: Other,
    neighbour: u64,
    decrypted: u64,
    fragments: u64,
    /// Packets longer than the MTU: no packet on a wire is.
    gso_packets: u64,
    canary_hits: u64,
    canary_example: Option<String>,
    randomness: Option<Randomness>,
    kernel_drops: u32,
    recorded: Vec<Recorded>,
    first_realtime_ns: Option<u64>,
    last_realtime_ns: Option<u64>,
    seconds: f64,
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Evidence, Failure> {
    check(parameters)?;
    let link = find_link(&parameters.device)?;
    if let Some(path) = &parameters.file {
        return of_recording(parameters, context, link, path);
    }
    let mut socket = PacketSocket::open(
        &link,
        parameters.direction,
        parameters.sample_one_in,
        parameters.snaplen,
        RECEIVE_BUFFER,
    )?;
    let mut capture = Capture::new(parameters, link);
    clock::use_exact_timers();
    let started_ns = clock::monotonic_ns();
    context.ready(Started { started_ns });
    let deadline_ns = started_ns + parameters.duration_max_s.ns();
    while !context.stop.asked() && clock::monotonic_ns() < deadline_ns {
        if context.stop.wait_readable(socket.as_fd(), deadline_ns) {
            context.stop.wait_until(clock::monotonic_ns() + GATHER_NS);
            capture.take_all(&mut socket, deadline_ns)?;
        }
    }
    capture.take_all(&mut socket, deadline_ns)?;
    let drops = socket.kernel_drops()?;
    Ok(capture.finish(drops, started_ns))
}

fn of_recording(
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
    while let Some(packet) = reader.next_packet().map_err(broken)? {
        if context.stop.asked() {
            break;
        }
        if let Some(packet) = from_ethernet(&packet, parameters.snaplen) {
            capture.count(&packet);
        }
    }
    let drops = u32::try_from(reader.drops()).unwrap_or(u32::MAX);
    Ok(capture.finish(drops, started_ns))
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

fn check(parameters: &Parameters) -> Result<(), Failure> {
    if !(64..=MAX_SNAPLEN).contains(&parameters.snaplen) {
        return Err(Failure::new(
            format!("snaplen {}", parameters.snaplen),
            "out of range",
            format!("give 64 to {MAX_SNAPLEN} bytes"),
        ));
    }
    if parameters.record > MAX_RECORD {
        return Err(Failure::new(
            format!("record {}", parameters.record),
            "too many packets to keep in memory",
            format!("record at most {MAX_RECORD}"),
        ));
    }
    if parameters.sample_one_in == 0 {
        return Err(Failure::new(
            "sample_one_in 0",
            "no packet would be captured",
            "give 1 for all packets, or N for one in N",
        ));
    }
    Ok(())
}

fn find_link(device: &str) -> Result<Link, Failure> {
    let links = links().map_err(during("list the interfaces"))?;
    let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
    let names = names.join(", ");
    let found = links.into_iter().find(|link| link.name == device);
    found.ok_or_else(|| {
        Failure::new(
            format!("device {}", device.escape_debug()),
            "this node has none of that name",
            format!("use one of: {names}"),
        )
    })
}

struct Capture<'a> {
    parameters: &'a Parameters,
    finders: Vec<Finder<'a>>,
    bytes: ByteCounts,
    evidence: Evidence,
}

impl<'a> Capture<'a> {
    fn new(parameters: &'a Parameters, link: Link) -> Capture<'a> {
        let finders = parameters.canaries.iter();
        Capture {
            parameters,
            finders: finders.map(|canary| Finder::new(canary.bytes())).collect(),
            bytes: ByteCounts::default(),
            evidence: Evidence {
                device: link.name,
                mtu: link.mtu,
                sample_one_in: parameters.sample_one_in,
                ..Evidence::default()
            },
        }
    }

    /// Takes what is queued; packets may come faster than they are read, hence the deadline.
    fn take_all(&mut self, socket: &mut PacketSocket, deadline_ns: u64) -> Result<(), Failure> {
        while socket.receive_now().map_err(during("capture: receive"))? > 0 {
            for packet in socket.packets() {
                self.count(&packet);
            }
            if clock::monotonic_ns() >= deadline_ns {
                break;
            }
        }
        Ok(())
    }

    fn count(&mut self, packet: &Captured<'_>) {
        let sight = see(packet.ethertype, packet.bytes, packet.wire_length);
        if self.is_decrypted(packet, &sight) {
            self.evidence.decrypted += 1;
            return;
        }
        let evidence = &mut self.evidence;
        if packet.realtime_ns.is_some() {
            evidence.first_realtime_ns = evidence.first_realtime_ns.or(packet.realtime_ns);
            evidence.last_realtime_ns = packet.realtime_ns;
        }
        if packet.wire_length > evidence.mtu as usize {
            evidence.gso_packets += 1;
        }
        match sight {
            Sight::Neighbour => {
                evidence.neighbour += 1;
                return;
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
        if self.evidence.recorded.len() < self.parameters.record {
            let length = seen.payload.len().min(self.parameters.snaplen_record);
            self.evidence.recorded.push(Recorded {
                realtime_ns: packet.realtime_ns,
                outgoing: packet.outgoing,
                protocol: seen.protocol,
                source_port: seen.source_port,
                destination_port: seen.destination_port,
                length: seen.length,
                mss: seen.announced_mss(),
                payload: to_hex(&seen.payload[..length]),
            });
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
        let found = |finder: &Finder<'_>| finder.find(packet.bytes).is_some();
        if !self.finders.iter().any(found) {
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

    fn finish(mut self, drops: u32, started_ns: u64) -> Evidence {
        self.evidence.kernel_drops = drops;
        self.evidence.randomness = self.bytes.randomness();
        self.evidence.seconds = (clock::monotonic_ns() - started_ns) as f64 / 1e9;
        self.evidence
    }
}
