//! One thread's members that write TCP, each on one connection.

use super::super::{LOOK_NS, Waiting};
use super::parameters::Parameters;
use super::sent::{MemberSent, Numbered};
use crate::net::socket;
use crate::net::tcp_info::TcpInfo;
use crate::protocol::failure::{Failure, during};
use crate::tasks::context::Context;
use crate::tasks::tcp::stream::write::{Acknowledged, set_options};
use crate::timing::clock;
use nix::sys::epoll::EpollFlags;
use socket2::Socket;
use std::io::{ErrorKind, Write};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// The connection of one member.
pub struct Connection {
    socket: Socket,
    to: SocketAddr,
    written: u64,
}

impl Connection {
    /// Starts to connect, from the namespace that this thread is in.
    pub fn begin(
        parameters: &Parameters,
        number: usize,
        bind: IpAddr,
    ) -> Result<Connection, Failure> {
        let member = &parameters.members[number];
        let to = SocketAddr::new(member.to, member.port);
        let what = format!("member {number}: connect TCP to {to}");
        let socket = socket::tcp_socket(member.to)?;
        set_options(&socket, &parameters.congestion_control, false)?;
        socket
            .bind(&SocketAddr::new(bind, 0).into())
            .and_then(|()| socket.set_nonblocking(true))
            .map_err(during(what.clone()))?;
        match socket.connect(&to.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => {
                Err(Failure::io(what, &error))
            }
            _ => Ok(Connection {
                socket,
                to,
                written: 0,
            }),
        }
    }
}

/// Waits until all are connected, and writes the token on each.
pub fn connected(
    connections: Vec<Connection>,
    parameters: &Parameters,
    context: &Context,
) -> Result<Vec<Connection>, Failure> {
    let mut waiting = Waiting::new()?;
    for (key, connection) in connections.iter().enumerate() {
        waiting.add(&connection.socket, EpollFlags::EPOLLOUT, key)?;
    }
    let deadline_ns = clock::monotonic_ns() + parameters.connect_timeout_s.ns();
    let mut missing: Vec<bool> = vec![true; connections.len()];
    let mut left = connections.len();
    while left > 0 {
        for key in waiting.ready(LOOK_NS) {
            let connection = &connections[key];
            let what = || format!("member {key}: connect TCP to {}", connection.to);
            if let Some(error) = connection.socket.take_error().map_err(during(what()))? {
                return Err(Failure::io(what(), &error));
            }
            (&connection.socket)
                .write_all(&parameters.token.0)
                .map_err(during(what()))?;
            waiting.change(&connection.socket, EpollFlags::empty(), key)?;
            missing[key] = false;
            left -= 1;
        }
        if left > 0 && (clock::monotonic_ns() >= deadline_ns || context.stop.requested()) {
            let key = missing.iter().position(|missing| *missing).unwrap_or(0);
            return Err(Failure::new(
                format!("member {key}: connect TCP to {}", connections[key].to),
                format!("{left} members were not connected in time"),
                "check that their tunnels carry packets",
            ));
        }
    }
    Ok(connections)
}

/// Writes until the end, on each connection as much as it takes.
pub fn write(
    mut lane: Vec<(usize, Connection)>,
    parameters: &Parameters,
    end_ns: u64,
    context: &Context,
) -> Result<Numbered, Failure> {
    let period = parameters.canary.bytes().len();
    let repeated = parameters.canary.repeated(period + parameters.write_size);
    let mut waiting = Waiting::new()?;
    for (key, (_, connection)) in lane.iter().enumerate() {
        waiting.add(&connection.socket, EpollFlags::EPOLLOUT, key)?;
    }
    loop {
        let left_ns = end_ns.saturating_sub(clock::monotonic_ns());
        if left_ns == 0 || context.stop.requested() {
            break;
        }
        for key in waiting.ready(left_ns) {
            let (number, connection) = &mut lane[key];
            let start = (connection.written % period as u64) as usize;
            match (&connection.socket).write(&repeated[start..start + parameters.write_size]) {
                Ok(length) => connection.written += length as u64,
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) => {
                    let what = format!("member {number}: send TCP to {}", connection.to);
                    return Err(Failure::io(what, &error));
                }
            }
        }
    }
    lane.into_iter()
        .map(|(number, connection)| Ok((number, sent(&connection)?)))
        .collect()
}

/// As at this moment. What is still unacknowledged is thrown away, so that no backlog disturbs what
/// follows.
fn sent(connection: &Connection) -> Result<MemberSent, Failure> {
    let info = TcpInfo::of(&connection.socket).map_err(during("crowd_source: TCP_INFO"))?;
    let _ = connection.socket.set_linger(Some(Duration::ZERO));
    Ok(MemberSent {
        bytes: Acknowledged::read(&info).bytes,
        bytes_sent: info.bytes_sent,
        retransmits: info.total_retrans,
        segments: info.segs_out,
        segments_back: info.segs_in,
        mss: info.snd_mss,
        ..MemberSent::default()
    })
}
