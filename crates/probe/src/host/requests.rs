//! Requests of the controller: one JSON object a line. Pure.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use culvert_probe::failure::Failure;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Bytes, in base64.
#[derive(Debug, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD
            .decode(text)
            .map(Bytes)
            .map_err(serde::de::Error::custom)
    }
}

/// A program to start.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spawn {
    pub argv: Vec<String>,
    /// All of its environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Standard error, and standard output without `pipes`, go to this file; without it standard
    /// error is an `output` as well.
    pub log: Option<PathBuf>,
    /// Standard input is `input`, standard output is `output`.
    #[serde(default)]
    pub pipes: bool,
    /// End its process group and forget it as soon as it has ended.
    #[serde(default)]
    pub once: bool,
    pub cpus: Option<Vec<usize>>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    Hello {},
    /// Says that the connection lives; answered with this host's clocks.
    Beat {},
    Spawn(Spawn),
    Input {
        of: u64,
        data: Bytes,
    },
    CloseInput {
        of: u64,
    },
    Signal {
        of: u64,
        signal: i32,
    },
    Stop {
        of: u64,
        grace_ms: u64,
    },
    Usage {
        of: u64,
    },
    Read {
        path: PathBuf,
    },
    Write {
        path: PathBuf,
        data: Bytes,
        mode: u32,
        #[serde(default)]
        append: bool,
    },
    Remove {
        path: PathBuf,
    },
    Exists {
        path: PathBuf,
    },
    Find {
        program: String,
        path: String,
    },
    Dial {
        path: PathBuf,
    },
    Undo {
        argv: Vec<String>,
    },
    /// End all programs and undo everything; the agent goes on.
    Reset {},
}

/// The request and its id; a refusal has the id if the line has one.
pub fn parse(line: &[u8]) -> (Option<u64>, Result<Request, Failure>) {
    let refuse = |why: String| Failure::new("request", why, "see docs/probe-protocol.md");
    let mut fields: Map<String, Value> = match serde_json::from_slice(line) {
        Ok(fields) => fields,
        Err(error) => return (None, Err(refuse(error.to_string()))),
    };
    let Some(id) = fields.remove("id").as_ref().and_then(Value::as_u64) else {
        return (
            None,
            Err(refuse("`id` is missing or not a whole number".into())),
        );
    };
    let request = serde_json::from_value(Value::Object(fields));
    (Some(id), request.map_err(|error| refuse(error.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(line: Vec<u8>) {
            let _ = parse(&line);
        }
    }

    #[test]
    fn a_request_is_read() {
        let line = br#"{"id":3,"do":"input","of":2,"data":"YWI="}"#;
        let (id, request) = parse(line);
        assert_eq!(id, Some(3));
        assert_eq!(
            request.unwrap(),
            Request::Input {
                of: 2,
                data: Bytes(b"ab".to_vec())
            }
        );
    }

    #[test]
    fn an_unknown_field_is_refused_with_the_id() {
        for line in [
            &br#"{"id":3,"do":"exists","path":"/","x":1}"#[..],
            br#"{"id":3,"do":"spawn","argv":["a"],"x":1}"#,
            br#"{"id":3,"do":"beat","x":1}"#,
        ] {
            let (id, request) = parse(line);
            assert_eq!(id, Some(3));
            assert!(request.unwrap_err().why.contains('x'));
        }
    }
}
