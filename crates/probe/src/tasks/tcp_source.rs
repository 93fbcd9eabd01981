//! `tcp_source`: one stream, as fast as the connection takes it.

use crate::clock;
use crate::context::{Context, Started};
use crate::failure::{Failure, during};
use crate::net::socket;
use crate::net::tcp_info::TcpInfo;
use crate::series::Ticker;
use crate::tasks::hello::congestion_controls;
use crate::values::{Canary, Seconds, Token};
use serde::{Deserialize, Serialize};
use socket2::Socket;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::time::Duration;

const MAX_WRITE: usize = 16 << 20;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    connect: IpAddr,
    port: u16,
    bind: Option<IpAddr>,
    #[serde(default)]
    bind_port: u16,
    token: Token,
    #[serde(default)]
    canary: Canary,
    duration_s: Seconds,
    congestion_control: String,
    /// Bytes per write call.
    write_size: usize,
    nodelay: bool,
    interval_ms: u32,
    /// Bytes; the kernel's own tuning if not given.
    send_buffer: Option<usize>,
    /// Bytes; lowers what the kernel would choose.
    mss: Option<u32>,
    #[serde(default = "five_seconds")]
    connect_timeout_s: Seconds,
    /// How long what was written may take to be acknowledged; then the connection is reset.
    #[serde(default = "one_second")]
    drain_s: Seconds,
}

fn five_seconds() -> Seconds {
    Seconds::new(5.0).expect("five is in range")
}

fn one_second() -> Seconds {
    Seconds::new(1.0).expect("one is in range")
}

/// Counts are of the interval; window, times (microseconds) and path MTU are as at its end.
#[derive(Debug, Clone, Serialize)]
pub struct Interval {
    t_ns: u64,
    bytes_acked: u64,
    retransmits: u32,
    cwnd: u32,
    rtt_us: u32,
    rttvar_us: u32,
    pmtu: u32,
}

/// All figures are those at the end of the duration; `final_tcp_info` is after the drain.
#[derive(Debug, Serialize)]
pub struct Sent {
    bytes_written: u64,
    bytes_acked: u64,
    first_ns: u64,
    last_ns: u64,
    seconds: f64,
    connect_ns: u64,
    congestion_control: String,
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
    let begin_ns = clock::monotonic_ns();
    let socket = connect(parameters)?;
    let connect_ns = clock::monotonic_ns() - begin_ns;
    let _interrupt = context
        .stop
        .interrupts(&socket)
        .map_err(during("tcp_source"))?;
    let congestion_control = read_congestion_control(&socket)?;
    let address = socket.local_addr().map_err(during("own port"))?;
    let source_port = address.as_socket().map_or(0, |address| address.port());
    (&socket)
        .write_all(&parameters.token.0)
        .map_err(during("tcp_source: send the token"))?;

    let first_ns = clock::monotonic_ns();
    context.ready(Started {
        started_ns: first_ns,
    });
    let mut stream = Stream {
        socket: &socket,
        written: 0,
        intervals: Vec::new(),
        boundary: Acknowledged::default(),
    };
    let tcp_info = stream.write_all(parameters, first_ns, context)?;
    let last_ns = clock::monotonic_ns();
    let (bytes_written, intervals) = (stream.written, stream.intervals);
    drain(&socket, parameters.drain_s)?;
    let final_tcp_info = TcpInfo::of(&socket).map_err(during("tcp_source: TCP_INFO"))?;
    let drained = Acknowledged::read(&final_tcp_info).bytes >= bytes_written;
    if !drained {
        // What is left must not disturb whatever is measured next.
        let _ = socket.set_linger(Some(Duration::ZERO));
    }
    Ok(Sent {
        bytes_written,
        bytes_acked: Acknowledged::read(&tcp_info).bytes.min(bytes_written),
        first_ns,
        last_ns,
        seconds: (last_ns - first_ns) as f64 / 1e9,
        connect_ns,
        congestion_control,
        mss: tcp_info.snd_mss,
        segs_out: tcp_info.segs_out,
        segs_in: tcp_info.segs_in,
        data_segs_out: tcp_info.data_segs_out,
        retransmits: tcp_info.total_retrans,
        bytes_retrans: tcp_info.bytes_retrans,
        intervals,
        tcp_info,
        drained,
        final_tcp_info,
        source_port,
    })
}

fn check_write_size(write_size: usize) -> Result<(), Failure> {
    if (1..=MAX_WRITE).contains(&write_size) {
        return Ok(());
    }
    Err(Failure::new(
        format!("write_size {write_size}"),
        "out of range",
        format!("give 1 to {MAX_WRITE} bytes"),
    ))
}

fn connect(parameters: &Parameters) -> Result<Socket, Failure> {
    let to = SocketAddr::new(parameters.connect, parameters.port);
    let socket = socket::tcp_socket(parameters.connect)?;
    set_congestion_control(&socket, &parameters.congestion_control)?;
    socket
        .set_tcp_nodelay(parameters.nodelay)
        .map_err(during("set TCP_NODELAY"))?;
    if let Some(bytes) = parameters.send_buffer {
        socket::set_send_buffer(&socket, bytes)?;
    }
    if let Some(mss) = parameters.mss {
        socket
            .set_tcp_mss(mss)
            .map_err(during(format!("set the MSS to {mss}")))?;
    }
    if let Some(from) = parameters.bind {
        let from = SocketAddr::new(from, parameters.bind_port);
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

fn set_congestion_control(socket: &Socket, name: &str) -> Result<(), Failure> {
    socket.set_tcp_congestion(name.as_bytes()).map_err(|error| {
        let known = congestion_controls().join(", ");
        Failure::new(
            format!("congestion control {}", name.escape_debug()),
            error.to_string(),
            format!("use one that this kernel has ({known}), or load its module (tcp_*)"),
        )
    })
}

fn read_congestion_control(socket: &Socket) -> Result<String, Failure> {
    let name = socket.tcp_congestion();
    let name = name.map_err(during("read the congestion control"))?;
    let name: Vec<u8> = name.into_iter().take_while(|&byte| byte != 0).collect();
    Ok(String::from_utf8_lossy(&name).into_owned())
}

/// What the receiver has acknowledged of the payload.
#[derive(Clone, Copy, Default)]
struct Acknowledged {
    bytes: u64,
    retransmits: u32,
}

impl Acknowledged {
    fn read(info: &TcpInfo) -> Acknowledged {
        // The kernel counts one for the SYN; the token is no payload.
        let overhead = 1 + size_of::<Token>() as u64;
        Acknowledged {
            bytes: info.bytes_acked.saturating_sub(overhead),
            retransmits: info.total_retrans,
        }
    }
}

struct Stream<'a> {
    socket: &'a Socket,
    written: u64,
    intervals: Vec<Interval>,
    boundary: Acknowledged,
}

impl Stream<'_> {
    /// Writes until the duration is over; returns the state of the connection at that time.
    fn write_all(
        &mut self,
        parameters: &Parameters,
        first_ns: u64,
        context: &Context,
    ) -> Result<TcpInfo, Failure> {
        let end_ns = first_ns + parameters.duration_s.ns();
        let period = parameters.canary.bytes().len();
        let repeated = parameters.canary.repeated(period + parameters.write_size);
        let mut ticker = Ticker::new(first_ns, parameters.interval_ms);
        loop {
            let start = (self.written % period as u64) as usize;
            let payload = &repeated[start..start + parameters.write_size];
            match { self.socket }.write(payload) {
                Ok(length) => self.written += length as u64,
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) => return Err(Failure::io("tcp_source: send", &error)),
            }
            let now_ns = clock::monotonic_ns();
            if ticker.passed(now_ns) {
                self.interval(now_ns, context)?;
            }
            if now_ns >= end_ns || context.stop.asked() {
                return TcpInfo::of(self.socket).map_err(during("tcp_source: TCP_INFO"));
            }
        }
    }

    fn interval(&mut self, t_ns: u64, context: &Context) -> Result<(), Failure> {
        let info = TcpInfo::of(self.socket).map_err(during("tcp_source: TCP_INFO"))?;
        let now = Acknowledged::read(&info);
        let interval = Interval {
            t_ns,
            bytes_acked: now.bytes - self.boundary.bytes,
            retransmits: now.retransmits - self.boundary.retransmits,
            cwnd: info.snd_cwnd,
            rtt_us: info.rtt,
            rttvar_us: info.rttvar,
            pmtu: info.pmtu,
        };
        self.boundary = now;
        context.interval(&interval);
        self.intervals.push(interval);
        Ok(())
    }
}

/// Says that this was all and waits until the sink has closed, or for the limit.
fn drain(mut socket: &Socket, limit: Seconds) -> Result<(), Failure> {
    let _ = socket.shutdown(Shutdown::Write);
    socket
        .set_read_timeout(Some(limit.duration()))
        .map_err(during("tcp_source: set a timeout"))?;
    let _ = socket.read(&mut [0]);
    Ok(())
}
