//! `tcp_rr` and `tcp_crr`: one request and its response after the other, over one connection or
//! over a new one each.

use crate::net::tcp_info::TcpInfo;
use crate::protocol::failure::{Failure, during, errno_name};
use crate::protocol::values::{Canary, Seconds, Token};
use crate::results::latency::{Latency, Summary};
use crate::tasks::context::{Context, Started};
use crate::tasks::tcp::responder::{Greeting, MAX_MESSAGE};
use crate::timing::clock;
use serde::{Deserialize, Serialize};
use socket2::Socket;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    connect: IpAddr,
    /// Of a tcp_responder.
    port: u16,
    bind: Option<IpAddr>,
    token: Token,
    #[serde(default)]
    canary: Canary,
    /// Bytes, 1 to 1 MiB.
    #[serde(default = "one")]
    request_size: u32,
    #[serde(default = "one")]
    response_size: u32,
    duration_s: Seconds,
    /// For a connection, and for each response.
    #[serde(default = "five_seconds")]
    timeout_s: Seconds,
}

fn one() -> u32 {
    1
}

fn five_seconds() -> Seconds {
    Seconds::new(5.0).expect("five is in range")
}

/// Times of transactions; those of `tcp_crr` hold connecting and closing, `connect` is apart.
#[derive(Debug, Serialize)]
pub struct Transacted {
    transactions: u64,
    per_second: f64,
    seconds: f64,
    first_ns: u64,
    last_ns: u64,
    /// By name of the error; `tcp_rr` fails at the first.
    errors: BTreeMap<String, u64>,
    #[serde(flatten)]
    times: Option<Summary>,
    connect: Option<Summary>,
    /// Of all connections together, each as it was after its last response.
    tcp_info: Option<TcpInfo>,
}

struct Transactions<'a> {
    parameters: &'a Parameters,
    context: &'a Context,
    request: Vec<u8>,
    response: Vec<u8>,
    first_ns: u64,
    times: Latency,
    connects: Latency,
    errors: BTreeMap<String, u64>,
    tcp_info: Option<TcpInfo>,
}

/// Over one connection.
pub fn request_response(parameters: &Parameters, context: &Context) -> Result<Transacted, Failure> {
    check(parameters)?;
    let mut all = Transactions::new(parameters, context, false);
    let to = SocketAddr::new(parameters.connect, parameters.port);
    let socket = all
        .connect()
        .map_err(during(format!("connect TCP to {to}")))?;
    let _interrupt = context.stop.interrupts(&socket).map_err(during("tcp_rr"))?;
    let greeting = all.greeting(false);
    { &socket }
        .write_all(&greeting)
        .map_err(during("tcp_rr: send the token"))?;
    all.begin();
    loop {
        let begun_ns = clock::monotonic_ns();
        if all.over(begun_ns) {
            all.add_up(&socket);
            return Ok(all.result());
        }
        match all.exchange(&socket) {
            Ok(()) => all.times.record(clock::monotonic_ns() - begun_ns),
            Err(_) if context.stop.requested() => {
                all.add_up(&socket);
                return Ok(all.result());
            }
            Err(error) => return Err(Failure::io("tcp_rr", &error)),
        }
    }
}

/// Over a connection of its own each.
pub fn connect_request_response(
    parameters: &Parameters,
    context: &Context,
) -> Result<Transacted, Failure> {
    check(parameters)?;
    let mut all = Transactions::new(parameters, context, true);
    all.begin();
    loop {
        let begun_ns = clock::monotonic_ns();
        if all.over(begun_ns) {
            return Ok(all.result());
        }
        match all.connect_and_exchange(begun_ns) {
            Ok(()) => all.times.record(clock::monotonic_ns() - begun_ns),
            Err(error) => *all.errors.entry(errno_name(&error)).or_default() += 1,
        }
        if all.times.count() == 0 && all.errors.values().sum::<u64>() >= 3 {
            let names: Vec<&str> = all.errors.keys().map(String::as_str).collect();
            return Err(Failure::new(
                "tcp_crr",
                format!("no connection succeeded: {}", names.join(", ")),
                "check that the responder runs and has the same token",
            ));
        }
    }
}

fn check(parameters: &Parameters) -> Result<(), Failure> {
    let fits = |size| (1..=MAX_MESSAGE).contains(&size);
    if fits(parameters.request_size) && fits(parameters.response_size) {
        return Ok(());
    }
    let (request, response) = (parameters.request_size, parameters.response_size);
    Err(Failure::new(
        format!("request_size {request}, response_size {response}"),
        "out of range",
        format!("give 1 to {MAX_MESSAGE} bytes"),
    ))
}

impl<'a> Transactions<'a> {
    fn new(parameters: &'a Parameters, context: &'a Context, once: bool) -> Transactions<'a> {
        let mut all = Transactions {
            parameters,
            context,
            request: Vec::new(),
            response: vec![0; parameters.response_size as usize],
            first_ns: 0,
            times: Latency::default(),
            connects: Latency::default(),
            errors: BTreeMap::new(),
            tcp_info: None,
        };
        if once {
            // In one segment with what stands in front of it.
            all.request.extend(all.greeting(true));
        }
        let canary = parameters.canary.repeated(parameters.request_size as usize);
        all.request.extend(canary);
        all
    }

    fn greeting(&self, once: bool) -> [u8; 25] {
        let greeting = Greeting {
            request_size: self.parameters.request_size,
            response_size: self.parameters.response_size,
            once,
        };
        greeting.bytes(&self.parameters.token)
    }

    fn begin(&mut self) {
        self.first_ns = clock::monotonic_ns();
        self.context.ready(Started {
            started_ns: self.first_ns,
        });
    }

    fn over(&self, now_ns: u64) -> bool {
        now_ns >= self.first_ns + self.parameters.duration_s.ns() || self.context.stop.requested()
    }

    fn connect(&self) -> io::Result<Socket> {
        let parameters = self.parameters;
        let to = SocketAddr::new(parameters.connect, parameters.port);
        let domain = socket2::Domain::for_address(to);
        let socket = Socket::new(domain, socket2::Type::STREAM, None)?;
        socket.set_tcp_nodelay(true)?;
        if let Some(from) = parameters.bind {
            socket.bind(&SocketAddr::new(from, 0).into())?;
        }
        // Also the limit of connect().
        socket.set_write_timeout(Some(parameters.timeout_s.duration()))?;
        socket.set_read_timeout(Some(parameters.timeout_s.duration()))?;
        socket.connect(&to.into())?;
        Ok(socket)
    }

    fn exchange(&mut self, mut socket: &Socket) -> io::Result<()> {
        socket.write_all(&self.request)?;
        socket.read_exact(&mut self.response)
    }

    fn connect_and_exchange(&mut self, begun_ns: u64) -> io::Result<()> {
        let socket = self.connect()?;
        self.connects.record(clock::monotonic_ns() - begun_ns);
        self.exchange(&socket)?;
        // The responder closes first.
        { &socket }.read(&mut [0]).map(|_| self.add_up(&socket))
    }

    fn add_up(&mut self, socket: &Socket) {
        if let Ok(info) = TcpInfo::of(socket) {
            info.add_to(&mut self.tcp_info);
        }
    }

    fn result(self) -> Transacted {
        let last_ns = clock::monotonic_ns();
        let seconds = (last_ns - self.first_ns) as f64 / 1e9;
        let transactions = self.times.count();
        Transacted {
            transactions,
            per_second: transactions as f64 / seconds,
            seconds,
            first_ns: self.first_ns,
            last_ns,
            errors: self.errors,
            times: self.times.summary(),
            connect: self.connects.summary(),
            tcp_info: self.tcp_info,
        }
    }
}
