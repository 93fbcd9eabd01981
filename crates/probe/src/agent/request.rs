//! Requests of measurements. Pure: fields in, a request or a refusal out.

use super::work::{Work, parameters, work};
use crate::protocol::failure::Failure;
use crate::protocol::requests::Fields;
use serde_json::Value;

pub enum Request {
    Hello,
    Begin { at_ns: u64 },
    Stop { packets: Option<u64> },
    Start(Work),
}

/// A request without its number.
pub fn parse(mut fields: Fields) -> Result<Request, Failure> {
    let what = fields.remove("do");
    let what = what.as_ref().and_then(Value::as_str).ok_or_else(|| {
        Failure::new(
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
        "begin" => {
            let Beginning { at_ns } = parameters(what, fields)?;
            Request::Begin { at_ns }
        }
        "stop" => {
            let Ending { packets } = parameters(what, fields)?;
            Request::Stop { packets }
        }
        _ => Request::Start(work(what, fields)?),
    })
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Beginning {
    at_ns: u64,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Ending {
    packets: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::super::work::TASKS;
    use super::*;
    use crate::protocol::requests::numbered;
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
            Ok(Request::Start(_))
        ));
    }

    #[test]
    fn an_unknown_field_is_named() {
        let failure = read(echo_request(",\"colour\":1").as_bytes())
            .err()
            .unwrap();
        assert!(failure.why.contains("colour"), "{failure}");
    }

    #[test]
    fn an_unknown_task_is_refused_with_the_list() {
        let failure = read(br#"{"id":1,"do":"dance"}"#).err().unwrap();
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
