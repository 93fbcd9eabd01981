//! The tasks that requests start, each in a thread of its own until it ends.

use crate::context::Context;
use crate::failure::Failure;
use crate::protocol::Work;
use crate::tasks::{
    accounting, applications, capture, crowd, dns_responder, echo, echo_once, first_answer,
    http_client, http_server, https, leaks, noise_floor, quic_sink, quic_source, read, rtt,
    tcp_responder, tcp_sink, tcp_source, tcp_transactions, udp_sink, udp_source, watch_gap,
};
use serde_json::Value;

/// Runs a task to its end and returns its result as JSON.
pub fn run(work: Work, context: &Context) -> Result<Value, Failure> {
    match work {
        Work::TcpSink(parameters) => value(tcp_sink::run(&parameters, context)?),
        Work::TcpSource(parameters) => value(tcp_source::run(&parameters, context)?),
        Work::TcpResponder(parameters) => value(tcp_responder::run(&parameters, context)?),
        Work::TcpRr(parameters) => value(tcp_transactions::request_response(&parameters, context)?),
        Work::TcpCrr(parameters) => value(tcp_transactions::connect_request_response(
            &parameters,
            context,
        )?),
        Work::UdpSink(parameters) => value(udp_sink::run(&parameters, context)?),
        Work::CrowdSink(parameters) => value(crowd::sink::run(&parameters, context)?),
        Work::CrowdSource(parameters) => value(crowd::source::run(&parameters, context)?),
        Work::WatchGap(parameters) => value(watch_gap::run(&parameters, context)?),
        Work::UdpSource(parameters) => value(udp_source::run(&parameters, context)?),
        Work::Echo(parameters) => value(echo::run(&parameters, context)?),
        Work::EchoOnce(parameters) => value(echo_once::run(&parameters, context)?),
        Work::Rtt(parameters) => value(rtt::run(&parameters, context)?),
        Work::NoiseFloor(parameters) => value(noise_floor::run(&parameters, context)?),
        Work::FirstAnswer(parameters) => value(first_answer::run(&parameters, context)?),
        Work::Capture(parameters) => value(capture::run(&parameters, context)?),
        Work::Accounting(parameters) => value(accounting::run(&parameters, context)?),
        Work::Read(parameters) => value(read::run(&parameters)?),
        Work::Applications(parameters) => value(applications::run(&parameters, context)?),
        Work::DnsResponder(parameters) => value(dns_responder::run(&parameters, context)?),
        Work::Leaks(parameters) => value(leaks::run(&parameters, context)?),
        Work::Https(parameters) => value(https::run(&parameters, context)?),
        Work::HttpServer(parameters) => value(http_server::run(&parameters, context)?),
        Work::HttpClient(parameters) => value(http_client::run(&parameters, context)?),
        Work::QuicSink(parameters) => value(quic_sink::run(&parameters, context)?),
        Work::QuicSource(parameters) => value(quic_source::run(&parameters, context)?),
    }
}

fn value(result: impl serde::Serialize) -> Result<Value, Failure> {
    serde_json::to_value(result).map_err(|error| {
        Failure::new(
            "result",
            error.to_string(),
            "report this as a bug of culvert-probe",
        )
    })
}
