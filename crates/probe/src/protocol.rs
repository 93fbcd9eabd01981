//! Requests of measurements. Pure: fields in, a request or a refusal out.

use crate::failure::Failure;
use crate::requests::Fields;
use crate::tasks::{
    accounting, applications, capture, crowd, dns_responder, echo, echo_once, first_answer,
    http_client, http_server, https, leaks, noise_floor, quic_sink, quic_source, read, rtt,
    tcp_responder, tcp_sink, tcp_source, tcp_transactions, udp_sink, udp_source, watch_gap,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Grows when the meaning of a request or an answer changes.
pub const VERSION: u32 = 1;

#[derive(Debug)]
pub enum Request {
    Hello,
    Stop { packets: Option<u64> },
    Start(Box<Work>),
}

/// A task with its parameters.
#[derive(Debug)]
pub enum Work {
    TcpSink(tcp_sink::Parameters),
    TcpSource(tcp_source::Parameters),
    TcpResponder(tcp_responder::Parameters),
    TcpRr(tcp_transactions::Parameters),
    TcpCrr(tcp_transactions::Parameters),
    UdpSink(udp_sink::Parameters),
    UdpSource(udp_source::Parameters),
    CrowdSink(crowd::sink::Parameters),
    CrowdSource(crowd::source::Parameters),
    WatchGap(watch_gap::Parameters),
    Echo(echo::Parameters),
    EchoOnce(echo_once::Parameters),
    Rtt(rtt::Parameters),
    NoiseFloor(noise_floor::Parameters),
    FirstAnswer(first_answer::Parameters),
    Capture(capture::Parameters),
    Accounting(accounting::Parameters),
    Read(read::Parameters),
    Https(https::Parameters),
    HttpServer(http_server::Parameters),
    HttpClient(http_client::Parameters),
    QuicSink(quic_sink::Parameters),
    QuicSource(quic_source::Parameters),
    Applications(applications::Parameters),
    DnsResponder(dns_responder::Parameters),
    Leaks(leaks::Parameters),
}

/// Names of all tasks, as reported by `hello`.
pub const TASKS: [&str; 26] = [
    "tcp_sink",
    "tcp_source",
    "tcp_responder",
    "tcp_rr",
    "tcp_crr",
    "udp_sink",
    "udp_source",
    "crowd_sink",
    "crowd_source",
    "watch_gap",
    "echo",
    "echo_once",
    "rtt",
    "noise_floor",
    "first_answer",
    "capture",
    "accounting",
    "read",
    "https",
    "http_server",
    "http_client",
    "quic_sink",
    "quic_source",
    "applications",
    "dns_responder",
    "leaks",
];

/// A request without its number.
pub fn parse(mut fields: Fields) -> Result<Request, Failure> {
    let what = fields.remove("do");
    let what = what.as_ref().and_then(Value::as_str).ok_or_else(|| {
        refuse(
            "request",
            "`do` is missing or not a text",
            "name a task in `do`",
        )
    })?;
    Ok(match what {
        "hello" => {
            let Nothing {} = parameters(what, fields)?;
            Request::Hello
        }
        "stop" => {
            let Ending { packets } = parameters(what, fields)?;
            Request::Stop { packets }
        }
        _ => Request::Start(Box::new(work(what, fields)?)),
    })
}

fn work(what: &str, fields: Fields) -> Result<Work, Failure> {
    Ok(match what {
        "tcp_sink" => Work::TcpSink(parameters(what, fields)?),
        "tcp_source" => Work::TcpSource(parameters(what, fields)?),
        "tcp_responder" => Work::TcpResponder(parameters(what, fields)?),
        "tcp_rr" => Work::TcpRr(parameters(what, fields)?),
        "tcp_crr" => Work::TcpCrr(parameters(what, fields)?),
        "udp_sink" => Work::UdpSink(parameters(what, fields)?),
        "udp_source" => Work::UdpSource(parameters(what, fields)?),
        "crowd_sink" => Work::CrowdSink(parameters(what, fields)?),
        "crowd_source" => Work::CrowdSource(parameters(what, fields)?),
        "watch_gap" => Work::WatchGap(parameters(what, fields)?),
        "echo" => Work::Echo(parameters(what, fields)?),
        "echo_once" => Work::EchoOnce(parameters(what, fields)?),
        "rtt" => Work::Rtt(parameters(what, fields)?),
        "noise_floor" => Work::NoiseFloor(parameters(what, fields)?),
        "first_answer" => Work::FirstAnswer(parameters(what, fields)?),
        "capture" => Work::Capture(parameters(what, fields)?),
        "accounting" => Work::Accounting(parameters(what, fields)?),
        "read" => Work::Read(parameters(what, fields)?),
        "https" => Work::Https(parameters(what, fields)?),
        "http_server" => Work::HttpServer(parameters(what, fields)?),
        "http_client" => Work::HttpClient(parameters(what, fields)?),
        "quic_sink" => Work::QuicSink(parameters(what, fields)?),
        "quic_source" => Work::QuicSource(parameters(what, fields)?),
        "applications" => Work::Applications(parameters(what, fields)?),
        "dns_responder" => Work::DnsResponder(parameters(what, fields)?),
        "leaks" => Work::Leaks(parameters(what, fields)?),
        _ => {
            return Err(refuse(
                "request",
                format!("there is no task `{}`", what.escape_debug()),
                format!("use one of: hello, stop, {}", TASKS.join(", ")),
            ));
        }
    })
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Ending {
    packets: Option<u64>,
}

fn parameters<T: DeserializeOwned>(what: &str, fields: Fields) -> Result<T, Failure> {
    serde_json::from_value(Value::Object(fields))
        .map_err(|error| refuse(what, error, "see docs/probe-protocol.md for its parameters"))
}

fn refuse(what: &str, why: impl ToString, remedy: impl Into<String>) -> Failure {
    Failure::new(what, why.to_string(), remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::numbered;
    use proptest::prelude::*;

    const ECHO: &str = r#""do":"echo","bind":"127.0.0.1","idle_s":1,"token":"#;

    fn read(line: &[u8]) -> Result<Request, Failure> {
        numbered(line).and_then(|(_, fields)| parse(fields))
    }

    fn echo_request(extra: &str) -> String {
        format!("{{\"id\":3,{ECHO}\"{}\"{extra}}}", "0a".repeat(16))
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(line: Vec<u8>) {
            let _ = read(&line);
        }

        #[test]
        fn any_cut_of_a_request_is_refused(length in 0_usize..80) {
            let text = echo_request("");
            prop_assert!(read(&text.as_bytes()[..length.min(text.len() - 1)]).is_err());
        }

        #[test]
        fn any_change_of_a_byte_is_survived(index in 0_usize..100, byte: u8) {
            let mut line = echo_request("").into_bytes();
            let index = index % line.len();
            line[index] = byte;
            let _ = read(&line);
        }
    }

    #[test]
    fn a_request_is_read() {
        assert!(matches!(
            read(echo_request("").as_bytes()),
            Ok(Request::Start(work)) if matches!(*work, Work::Echo(_))
        ));
    }

    #[test]
    fn an_unknown_field_is_named() {
        let failure = read(echo_request(",\"colour\":1").as_bytes()).unwrap_err();
        assert!(failure.why.contains("colour"), "{failure}");
    }

    #[test]
    fn an_unknown_task_is_refused_with_the_list() {
        let failure = read(br#"{"id":1,"do":"dance"}"#).unwrap_err();
        assert!(failure.remedy.contains("udp_sink"));
    }

    #[test]
    fn hello_takes_no_parameters() {
        assert!(read(br#"{"id":1,"do":"hello","x":1}"#).is_err());
    }

    #[test]
    fn every_task_of_the_list_is_known() {
        for task in TASKS {
            if let Err(failure) = work(task, Fields::new()) {
                assert!(failure.why.contains("missing field"), "{task}: {failure}");
            }
        }
    }
}
