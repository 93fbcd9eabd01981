//! Numbered requests, one JSON object a line: what an agent reads, whatever it then does.

use crate::protocol::emitter::Emitter;
use crate::protocol::failure::Failure;
use crate::protocol::lines::{Line, MAX_LINE, read_line};
use serde_json::{Map, Value};
use std::io::{self, BufRead};

/// What a request has besides its number.
pub type Fields = Map<String, Value>;

/// Hands over each request until the input ends; lines that are none are refused.
pub fn read_all(
    mut input: impl BufRead,
    emitter: &Emitter,
    mut answer: impl FnMut(u64, Fields),
) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        let request = match read_line(&mut input, &mut line)? {
            Line::End => return Ok(()),
            Line::Whole => numbered(&line),
            Line::TooLong => {
                let why = format!("the line is longer than {MAX_LINE} bytes");
                refuse(why, "send shorter requests")
            }
        };
        match request {
            Ok((id, fields)) => answer(id, fields),
            Err(failure) => emitter.error(None, &failure),
        }
    }
}

/// The number of a request, and the rest of it.
pub fn numbered(line: &[u8]) -> Result<(u64, Fields), Failure> {
    let mut fields: Fields = match serde_json::from_slice(line) {
        Ok(fields) => fields,
        Err(error) => {
            return refuse(error.to_string(), "send one JSON object in UTF-8 per line");
        }
    };
    match fields.remove("id").as_ref().and_then(Value::as_u64) {
        Some(id) => Ok((id, fields)),
        None => refuse(
            "`id` is missing or not a whole number".to_owned(),
            "give each request its own id",
        ),
    }
}

fn refuse<T>(why: String, remedy: &str) -> Result<T, Failure> {
    Err(Failure::new("request", why, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(line: Vec<u8>) {
            let _ = numbered(&line);
        }
    }

    #[test]
    fn the_number_is_taken_out() {
        let (id, fields) = numbered(br#"{"id":3,"do":"beat"}"#).unwrap();
        assert_eq!((id, fields.len()), (3, 1));
        for line in [
            &br#"{"do":"beat"}"#[..],
            br#"{"id":-1}"#,
            br#"{"id":"3"}"#,
            b"[]",
        ] {
            assert!(numbered(line).is_err());
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        let line = "[".repeat(100_000);
        assert!(numbered(line.as_bytes()).is_err());
    }
}
