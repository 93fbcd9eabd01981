//! `capture`: what really crosses an interface: the evidence for every proof.

mod count;
mod evidence;

use crate::net::capture::filter::{Direction, Look};
use crate::net::capture::outsiders::outsiders;
use crate::net::capture::packet_socket::PacketSocket;
use crate::net::capture::search::Search;
use crate::net::device::netlink::{Link, links};
use crate::packet::flow::Flow;
use crate::packet::scope::Scope;
use crate::protocol::failure::{Failure, during};
use crate::protocol::values::{Canary, Seconds};
use crate::tasks::context::{Context, Started};
use crate::timing::clock;
use count::Capture;
use evidence::{Evidence, Searched};
use serde::Deserialize;
use std::net::IpAddr;
use std::os::fd::AsFd;

const MAX_SNAPLEN: usize = 1 << 16;
const DEFAULT_SNAPLEN: usize = 2048;
const MAX_RECORD: usize = 100_000;
/// What the kernel may hold back for us; see `GATHER_NS`.
const RECEIVE_BUFFER: usize = 64 << 20;
/// In place of a device: all of the node but its loopback.
const EVERY_DEVICE: &str = "any";
/// Packets are gathered for so long before they are read: waking up for each would cost those
/// that are being measured. Their timestamps are the kernel's.
pub const GATHER_NS: u64 = 2_000_000;

/// A sample begins behind so many packets: of a few it might hold none.
const ALL_OF_THE_FIRST: u64 = 256;
/// A look ends with so many packets found: to copy more of them proves nothing more.
const ENOUGH_FOUND: u64 = 1000;
/// Bytes of a packet of a usual link, for what is stated of a search.
const USUAL_LENGTH: u32 = 1500;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    device: String,
    /// The tunnel's packets; if none is given, all IP packets match.
    flow: Option<Flow>,
    /// The kernel shows what it has decrypted as packets that the device receives: such as are not
    /// of the flow are counted, and not looked at.
    #[serde(default)]
    decrypted_inward: bool,
    /// A packet of the device may be several of the tunnel's, joined by an offload, and still not
    /// longer than its MTU.
    #[serde(default)]
    joined: bool,
    /// The packets of the trial; all others of the device are beside it. Without it all packets.
    scope: Option<Scope>,
    /// Bytes that must not be seen.
    #[serde(default)]
    canaries: Vec<Canary>,
    /// Addresses inside the tunnel: no packet has two of them one behind the other, as a header in
    /// clear text has.
    #[serde(default)]
    inner_ends: Vec<IpAddr>,
    /// How many matching packets to record, the first of them.
    #[serde(default)]
    record: usize,
    /// How many bytes of the payload of each to record.
    #[serde(default)]
    snaplen_record: usize,
    /// Bytes of canaries in a row in each packet that carries some; without it those of long packets.
    marked_run: Option<u32>,
    /// 1: all packets; N: behind the first a random one in N, chosen by the kernel, and each that has
    /// marks or is not the tunnel's: the kernel looks at all.
    #[serde(default = "all")]
    sample_one_in: u32,
    #[serde(default = "both")]
    direction: Direction,
    /// How many bytes of each packet to inspect.
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

pub fn run(parameters: &Parameters, context: &Context) -> Result<Evidence, Failure> {
    check(parameters)?;
    let link = find_link(&parameters.device)?;
    let mut socket = PacketSocket::open(
        &link,
        parameters.direction,
        parameters.snaplen,
        RECEIVE_BUFFER,
    )?;
    let before = link.clone();
    let mut capture = Capture::new(parameters, link);
    clock::use_exact_timers();
    let started_ns = clock::monotonic_ns();
    context.ready(Started { started_ns });
    let deadline_ns = started_ns + parameters.duration_max_s.ns();
    let mut phase = Phase::All;
    // Packets may come faster than they are read: the queue need not be empty for the next step.
    while !context.stop.requested() && clock::monotonic_ns() < deadline_ns {
        if take(&mut capture, &mut socket)? > 0 {
            phase = phase.next(parameters, &capture, &socket)?;
        } else if context.stop.wait_readable(socket.as_fd(), deadline_ns) {
            context.stop.wait_until(clock::monotonic_ns() + GATHER_NS);
        }
    }
    socket.close()?;
    while take(&mut capture, &mut socket)? > 0 {}
    let drops = socket.kernel_drops()?;
    let searched = match phase {
        Phase::Sample(Look {
            search: Some(search),
            ..
        }) => Some(Searched {
            packets: passed_since(&before, parameters.direction)?
                .saturating_sub(drops.into())
                .max(capture.packets()),
            least_bytes: search.finds(USUAL_LENGTH),
        }),
        Phase::All | Phase::Sample(_) => None,
    };
    Ok(capture.finish(drops, clock::seconds_since(started_ns), searched))
}

/// What the kernel queues.
enum Phase {
    All,
    /// A sample, and each packet that the look finds.
    Sample(Look),
}

impl Phase {
    fn next(
        self,
        parameters: &Parameters,
        capture: &Capture<'_>,
        socket: &PacketSocket,
    ) -> Result<Phase, Failure> {
        let (direction, one_in) = (parameters.direction, parameters.sample_one_in);
        let look = match self {
            Phase::All if one_in == 1 || capture.packets() < ALL_OF_THE_FIRST => return Ok(self),
            Phase::All if capture.found() < ENOUGH_FOUND => look(parameters, capture),
            Phase::Sample(ref look) if look.is_nothing() || capture.found() < ENOUGH_FOUND => {
                return Ok(self);
            }
            Phase::All | Phase::Sample(_) => Look::default(),
        };
        socket.thin_out(direction, one_in, look).map(Phase::Sample)
    }
}

/// For packets that are not the tunnel's, and for marks. What the kernel decrypted arrives beside
/// the tunnel.
fn look(parameters: &Parameters, capture: &Capture<'_>) -> Look {
    let shows_decrypted = parameters.decrypted_inward && parameters.direction != Direction::Out;
    let flow = parameters.flow.as_ref().filter(|_| !shows_decrypted);
    let scope = parameters.scope.as_ref();
    Look {
        outsiders: flow.map_or(Vec::new(), |flow| outsiders(flow, scope)),
        search: capture
            .marks()
            .map(|marks| Search::new(marks, parameters.marked_run)),
    }
}

/// Packets that the device has counted since then.
fn passed_since(before: &Link, direction: Direction) -> Result<u64, Failure> {
    let now = find_link(&before.name)?;
    let received = now.stats.rx_packets.saturating_sub(before.stats.rx_packets);
    let sent = now.stats.tx_packets.saturating_sub(before.stats.tx_packets);
    Ok(match direction {
        Direction::Both => received + sent,
        Direction::In => received,
        Direction::Out => sent,
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

pub fn find_link(device: &str) -> Result<Link, Failure> {
    let links = links().map_err(during("list the interfaces"))?;
    if device == EVERY_DEVICE {
        return Ok(Link::all_of(links));
    }
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

/// Takes a part of what is queued; returns how many packets that were.
fn take(capture: &mut Capture<'_>, socket: &mut PacketSocket) -> Result<usize, Failure> {
    let taken = socket.receive_now().map_err(during("capture: receive"))?;
    for packet in socket.packets() {
        capture.count(&packet);
    }
    Ok(taken)
}
