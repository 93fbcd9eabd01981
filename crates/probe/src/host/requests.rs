//! Requests of the controller. Pure.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use culvert_probe::protocol::failure::Failure;
use culvert_probe::protocol::requests::Fields;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
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

pub fn parse(fields: Fields) -> Result<Request, Failure> {
    serde_json::from_value(Value::Object(fields))
        .map_err(|error| Failure::new("request", error.to_string(), "see docs/probe-protocol.md"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(request: Value) -> Result<Request, Failure> {
        serde_json::from_value(request)
            .map_err(|error| Failure::new("JSON", error.to_string(), ""))
            .and_then(parse)
    }

    #[test]
    fn a_request_is_read() {
        assert_eq!(
            read(json!({"do": "input", "of": 2, "data": "YWI="})).unwrap(),
            Request::Input {
                of: 2,
                data: Bytes(b"ab".to_vec())
            }
        );
    }

    #[test]
    fn an_unknown_field_is_refused() {
        for request in [
            json!({"do": "exists", "path": "/", "x": 1}),
            json!({"do": "spawn", "argv": ["a"], "x": 1}),
            json!({"do": "beat", "x": 1}),
        ] {
            assert!(read(request).unwrap_err().why.contains('x'));
        }
    }
}
