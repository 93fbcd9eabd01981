//! The tasks that requests start, each in a thread of its own until it ends.

use crate::protocol::failure::Failure;
use crate::protocol::requests::Fields;
use crate::tasks::context::Context;
use crate::tasks::{applications, crowd, observation, round_trips, tcp, udp, web};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A task with its parameters: runs to its end and returns its result as JSON.
pub type Work = Box<dyn FnOnce(&Context) -> Result<Value, Failure> + Send>;

macro_rules! tasks {
    ($($name:literal => $run:path,)*) => {
        /// Names of all tasks, as reported by `hello`.
        pub const TASKS: &[&str] = &[$($name),*];

        /// The task of this name with these parameters.
        pub fn work(name: &str, fields: Fields) -> Result<Work, Failure> {
            match name {
                $($name => prepared(name, fields, $run),)*
                _ => Err(Failure::new(
                    "request",
                    format!("there is no task `{}`", name.escape_debug()),
                    format!("use one of: hello, begin, stop, {}", TASKS.join(", ")),
                )),
            }
        }
    };
}

tasks! {
    "tcp_sink" => tcp::sink::run,
    "tcp_source" => tcp::source::run,
    "tcp_responder" => tcp::responder::run,
    "tcp_rr" => tcp::transactions::request_response,
    "tcp_crr" => tcp::transactions::connect_request_response,
    "udp_sink" => udp::sink::run,
    "udp_source" => udp::source::run,
    "crowd_sink" => crowd::sink::run,
    "crowd_source" => crowd::source::run,
    "echo" => round_trips::echo::run,
    "echo_once" => round_trips::echo_once::run,
    "rtt" => round_trips::rtt::run,
    "noise_floor" => round_trips::noise_floor::run,
    "first_answer" => round_trips::first_answer::run,
    "capture" => observation::capture::run,
    "accounting" => observation::accounting::run,
    "read" => observation::read::run,
    "https" => web::https::run,
    "http_server" => web::http_server::run,
    "http_client" => web::http_client::run,
    "quic_sink" => web::quic_sink::run,
    "quic_source" => web::quic_source::run,
    "applications" => applications::run,
    "dns_responder" => applications::dns_responder::run,
    "leaks" => observation::leaks::run,
}

fn prepared<P, R>(
    name: &str,
    fields: Fields,
    run: fn(&P, &Context) -> Result<R, Failure>,
) -> Result<Work, Failure>
where
    P: DeserializeOwned + Send + 'static,
    R: Serialize + 'static,
{
    let parameters = parameters(name, fields)?;
    Ok(Box::new(move |context| {
        let result = run(&parameters, context)?;
        serde_json::to_value(result).map_err(|error| {
            let remedy = "report this as a bug of culvert-probe";
            Failure::new("result", error.to_string(), remedy)
        })
    }))
}

/// The fields of a request as its parameters; others than these are refused.
pub fn parameters<T: DeserializeOwned>(name: &str, fields: Fields) -> Result<T, Failure> {
    serde_json::from_value(Value::Object(fields)).map_err(|error| {
        let remedy = "see docs/probe-protocol.md for its parameters";
        Failure::new(name, error.to_string(), remedy)
    })
}
