//! `tcp_source`: one or many streams, as fast as the connections take them.

use crate::net::socket::{self, Buffer};
use crate::net::tcp_info::TcpInfo;
use crate::protocol::failure::{Failure, during};
use crate::protocol::values::{Canary, Seconds, Token};
use crate::tasks::context::{Context, Started};
use crate::tasks::tcp::stream::write::{
    Acknowledged, Interval, Writing, drain, read_congestion_control, set_options, write_all,
};
use crate::tasks::tcp::stream::{check_streams, check_write_size, each};
use crate::timing::clock;
use serde::{Deserialize, Serialize};
use socket2::Socket;
use std::collections::BTreeMap;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    connect: IpAddr,
    port: u16,
    bind: Option<IpAddr>,
    token: Token,
    #[serde(default)]
    canary: Canary,
    duration_s: Seconds,
    congestion_control: String,
    /// Bytes per write call.
    write_size: usize,
    nodelay: bool,
    /// Bytes; if not given, the kernel grows it as the connection needs.
    send_buffer: Option<usize>,
    interval_ms: u32,
    #[serde(default = "five_seconds")]
    connect_timeout_s: Seconds,
    /// How long what was written may take to be acknowledged; then the connection is reset.
    #[serde(default = "one_second")]
    drain_s: Seconds,
    #[serde(default = "one")]
    streams: u16,
}

fn five_seconds() -> Seconds {
    Seconds::new(5.0).expect("five is in range")
}

fn one_second() -> Seconds {
    Seconds::new(1.0).expect("one is in range")
}

fn one() -> u16 {
    1
}

/// All figures are those at the end of the duration; `final_tcp_info` is after the drain.
#[derive(Debug, Serialize)]
pub struct Sent {
    #[serde(flatten)]
    all: Stream,
    first_ns: u64,
    last_ns: u64,
    seconds: f64,
    congestion_control: String,
    send_buffer_effective: usize,
    streams: Vec<Stream>,
}

/// One stream, or all of them together: then counts and windows are sums, `rtt_us` the longest.
#[derive(Debug, Clone, Serialize)]
struct Stream {
    bytes_written: u64,
    bytes_acked: u64,
    connect_ns: u64,
    mss: u32,
    segs_out: u32,
    segs_in: u32,
    data_segs_out: u32,
    retransmits: u32,
    bytes_retrans: u64,
    intervals: Vec<Interval>,
    tcp_info: TcpInfo,
    drained: bool,
    final_tcp_info: TcpInfo,
    source_port: u16,
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Sent, Failure> {
    check_write_size(parameters.write_size)?;
    check_streams(parameters.streams)?;
    let mut connections = Vec::new();
    for _ in 0..parameters.streams {
        let begin_ns = clock::monotonic_ns();
        let socket = connect(parameters)?;
        let connect_ns = clock::monotonic_ns() - begin_ns;
        { &socket }
            .write_all(&parameters.token.0)
            .map_err(during("tcp_source: send the token"))?;
        connections.push((socket, connect_ns));
    }
    let congestion_control = read_congestion_control(&connections[0].0)?;
    let send_buffer_effective = Buffer::Send.size(&connections[0].0)?;
    let first_ns = clock::monotonic_ns();
    context.ready(Started {
        started_ns: first_ns,
    });
    let outcomes = each(&connections, |(socket, connect_ns)| {
        send(parameters, socket, *connect_ns, first_ns, context)
    })?;
    let (streams, ends_ns): (Vec<_>, Vec<_>) = outcomes.into_iter().unzip();
    let last_ns = ends_ns.into_iter().max().unwrap_or(first_ns);
    Ok(Sent {
        all: sum(&streams, first_ns, parameters.interval_ms),
        first_ns,
        last_ns,
        seconds: (last_ns - first_ns) as f64 / 1e9,
        congestion_control,
        send_buffer_effective,
        streams,
    })
}

fn connect(parameters: &Parameters) -> Result<Socket, Failure> {
    let to = SocketAddr::new(parameters.connect, parameters.port);
    let socket = socket::tcp_socket(parameters.connect)?;
    set_options(&socket, &parameters.congestion_control, parameters.nodelay)?;
    if let Some(bytes) = parameters.send_buffer {
        Buffer::Send.set(&socket, bytes)?;
    }
    if let Some(from) = parameters.bind {
        let from = SocketAddr::new(from, 0);
        socket
            .bind(&from.into())
            .map_err(during(format!("bind TCP {from}")))?;
    }
    // The clock is looked at even if nothing is acknowledged.
    let step = socket::look_every(parameters.interval_ms);
    socket
        .connect_timeout(&to.into(), parameters.connect_timeout_s.duration())
        .and_then(|()| socket.set_write_timeout(Some(step)))
        .map_err(during(format!("connect TCP to {to}")))?;
    Ok(socket)
}

/// What became of a stream, and when it had been written.
fn send(
    parameters: &Parameters,
    socket: &Socket,
    connect_ns: u64,
    first_ns: u64,
    context: &Context,
) -> Result<(Stream, u64), Failure> {
    let _interrupt = context
        .stop
        .interrupts(socket)
        .map_err(during("tcp_source"))?;
    let writing = Writing {
        canary: &parameters.canary,
        write_size: parameters.write_size,
        interval_ms: parameters.interval_ms,
        first_ns,
        end_ns: first_ns + parameters.duration_s.ns(),
        reported: parameters.streams == 1,
    };
    let written = write_all(socket, &writing, context)?;
    let end_ns = clock::monotonic_ns();
    let info = written.info;
    let address = socket.local_addr().map_err(during("own port"))?;
    let mut stream = Stream {
        bytes_written: written.bytes,
        bytes_acked: Acknowledged::read(&info).bytes.min(written.bytes),
        connect_ns,
        mss: info.snd_mss,
        segs_out: info.segs_out,
        segs_in: info.segs_in,
        data_segs_out: info.data_segs_out,
        retransmits: info.total_retrans,
        bytes_retrans: info.bytes_retrans,
        intervals: written.intervals,
        tcp_info: info,
        drained: false,
        final_tcp_info: info,
        source_port: address.as_socket().map_or(0, |address| address.port()),
    };
    drain(socket, parameters.drain_s)?;
    finish(socket, &mut stream)?;
    Ok((stream, end_ns))
}

/// Looks at the connection after the drain.
fn finish(socket: &Socket, stream: &mut Stream) -> Result<(), Failure> {
    let info = TcpInfo::of(socket).map_err(during("tcp_source: TCP_INFO"))?;
    stream.final_tcp_info = info;
    stream.drained = Acknowledged::read(&info).bytes >= stream.bytes_written;
    if !stream.drained {
        // What is left must not disturb whatever is measured next.
        let _ = socket.set_linger(Some(Duration::ZERO));
    }
    Ok(())
}

/// Counts of streams added up. There is at least one.
fn sum(streams: &[Stream], first_ns: u64, interval_ms: u32) -> Stream {
    let mut all = streams[0].clone();
    let rest = &streams[1..];
    if rest.is_empty() {
        return all;
    }
    for stream in rest {
        all.bytes_written += stream.bytes_written;
        all.bytes_acked += stream.bytes_acked;
        all.connect_ns = all.connect_ns.max(stream.connect_ns);
        all.mss = all.mss.min(stream.mss);
        all.segs_out += stream.segs_out;
        all.segs_in += stream.segs_in;
        all.data_segs_out += stream.data_segs_out;
        all.retransmits += stream.retransmits;
        all.bytes_retrans += stream.bytes_retrans;
        all.tcp_info = all.tcp_info.plus(&stream.tcp_info);
        all.final_tcp_info = all.final_tcp_info.plus(&stream.final_tcp_info);
        all.drained &= stream.drained;
    }
    let step_ns = u64::from(interval_ms.max(1)) * 1_000_000;
    let mut intervals: BTreeMap<u64, Interval> = BTreeMap::new();
    for interval in streams.iter().flat_map(|stream| &stream.intervals) {
        let number = interval.t_ns.saturating_sub(first_ns) / step_ns;
        match intervals.get_mut(&number) {
            None => {
                intervals.insert(number, interval.clone());
            }
            Some(sum) => {
                sum.t_ns = sum.t_ns.max(interval.t_ns);
                sum.bytes_acked += interval.bytes_acked;
                sum.retransmits += interval.retransmits;
                sum.cwnd += interval.cwnd;
                sum.rtt_us = sum.rtt_us.max(interval.rtt_us);
                sum.rttvar_us = sum.rttvar_us.max(interval.rttvar_us);
                sum.pmtu = sum.pmtu.min(interval.pmtu);
            }
        }
    }
    all.intervals = intervals.into_values().collect();
    all
}
