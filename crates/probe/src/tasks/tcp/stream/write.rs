//! One connection that is written to.

use crate::net::socket::congestion_controls;
use crate::net::tcp_info::TcpInfo;
use crate::protocol::failure::{Failure, during};
use crate::protocol::values::{Canary, Seconds, Token};
use crate::tasks::context::Context;
use crate::timing::clock;
use crate::timing::ticker::Ticker;
use serde::Serialize;
use socket2::Socket;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;

/// Counts are of the interval; window, times (microseconds) and path MTU are as at its end.
#[derive(Debug, Clone, Serialize)]
pub struct Interval {
    pub t_ns: u64,
    pub bytes_acked: u64,
    pub retransmits: u32,
    pub cwnd: u32,
    pub rtt_us: u32,
    pub rttvar_us: u32,
    pub pmtu: u32,
}

/// What every connection that is written to is given.
pub fn set_options(
    socket: &Socket,
    congestion_control: &str,
    nodelay: bool,
) -> Result<(), Failure> {
    set_congestion_control(socket, congestion_control)?;
    socket
        .set_tcp_nodelay(nodelay)
        .map_err(during("set TCP_NODELAY"))
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

pub fn read_congestion_control(socket: &Socket) -> Result<String, Failure> {
    let name = socket.tcp_congestion();
    let name = name.map_err(during("read the congestion control"))?;
    let name: Vec<u8> = name.into_iter().take_while(|&byte| byte != 0).collect();
    Ok(String::from_utf8_lossy(&name).into_owned())
}

/// What the receiver has acknowledged of the payload.
#[derive(Clone, Copy, Default)]
pub struct Acknowledged {
    pub bytes: u64,
    pub retransmits: u32,
}

impl Acknowledged {
    pub fn read(info: &TcpInfo) -> Acknowledged {
        // The kernel counts one for the SYN; the token is no payload.
        let overhead = 1 + size_of::<Token>() as u64;
        Acknowledged {
            bytes: info.bytes_acked.saturating_sub(overhead),
            retransmits: info.total_retrans,
        }
    }
}

/// Writes canaries until `done` returns true; it is called after each write, with the time. A write gives up after the socket's timeout, so that it is called often enough.
fn write_until(
    mut socket: &Socket,
    canary: &Canary,
    write_size: usize,
    mut done: impl FnMut(u64) -> bool,
) -> io::Result<u64> {
    let period = canary.bytes().len();
    let repeated = canary.repeated(period + write_size);
    let mut written = 0;
    loop {
        let start = (written % period as u64) as usize;
        match socket.write(&repeated[start..start + write_size]) {
            Ok(length) => written += length as u64,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
        if done(clock::monotonic_ns()) {
            return Ok(written);
        }
    }
}

/// What was written, and the connection's state over time and at the end.
pub struct Written {
    pub bytes: u64,
    pub intervals: Vec<Interval>,
    pub info: TcpInfo,
}

/// How a source writes.
pub struct Writing<'a> {
    pub canary: &'a Canary,
    pub write_size: usize,
    pub interval_ms: u32,
    pub first_ns: u64,
    pub end_ns: u64,
    /// Whether intervals are reported as they end; those of one of many streams are not.
    pub reported: bool,
}

/// Writes until the time has come or the task is to end.
pub fn write_all(
    socket: &Socket,
    writing: &Writing<'_>,
    context: &Context,
) -> Result<Written, Failure> {
    let mut ticker = Ticker::new(writing.first_ns, writing.interval_ms);
    let mut series = Series {
        socket,
        intervals: Vec::new(),
        boundary: Acknowledged::default(),
    };
    let mut failed = None;
    let outcome = write_until(socket, writing.canary, writing.write_size, |now_ns| {
        if ticker.passed(now_ns) {
            match series.interval(now_ns) {
                Ok(interval) if writing.reported => context.interval(interval),
                Ok(_) => {}
                Err(failure) => failed = Some(failure),
            }
        }
        now_ns >= writing.end_ns || context.stop.requested() || failed.is_some()
    });
    let bytes = outcome.map_err(during("tcp_source: send"))?;
    if let Some(failure) = failed {
        return Err(failure);
    }
    Ok(Written {
        bytes,
        intervals: series.intervals,
        info: TcpInfo::of(socket).map_err(during("tcp_source: TCP_INFO"))?,
    })
}

struct Series<'a> {
    socket: &'a Socket,
    intervals: Vec<Interval>,
    boundary: Acknowledged,
}

impl Series<'_> {
    fn interval(&mut self, t_ns: u64) -> Result<&Interval, Failure> {
        let info = TcpInfo::of(self.socket).map_err(during("tcp_source: TCP_INFO"))?;
        let now = Acknowledged::read(&info);
        self.intervals.push(Interval {
            t_ns,
            bytes_acked: now.bytes - self.boundary.bytes,
            retransmits: now.retransmits - self.boundary.retransmits,
            cwnd: info.snd_cwnd,
            rtt_us: info.rtt,
            rttvar_us: info.rttvar,
            pmtu: info.pmtu,
        });
        self.boundary = now;
        Ok(&self.intervals[self.intervals.len() - 1])
    }
}

/// Says that this was all and waits until the sink has closed, or for the limit.
pub fn drain(mut socket: &Socket, limit: Seconds) -> Result<(), Failure> {
    let _ = socket.shutdown(Shutdown::Write);
    socket
        .set_read_timeout(Some(limit.duration()))
        .map_err(during("tcp_source: set a timeout"))?;
    let _ = socket.read(&mut [0]);
    Ok(())
}
