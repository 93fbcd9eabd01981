//! Why a request was not served.

use culvert_probe::protocol::failure::Failure;
use serde_json::{Value, json};
use std::io;

/// An error, with the number that the system has for it.
pub struct Refusal {
    failure: Failure,
    errno: Option<i32>,
}

impl Refusal {
    pub fn io(what: impl Into<String>, error: &io::Error) -> Refusal {
        Refusal {
            failure: Failure::io(what, error),
            errno: error.raw_os_error(),
        }
    }

    pub fn as_json(&self) -> Value {
        json!({
            "what": self.failure.what,
            "why": self.failure.why,
            "remedy": self.failure.remedy,
            "errno": self.errno,
        })
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Refusal {
        Refusal {
            failure,
            errno: None,
        }
    }
}
