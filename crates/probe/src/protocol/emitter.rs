//! Answers: one JSON object a line, written by a thread of its own.
//!
//! A task never waits for the reader of its answers: that would disturb its measurement.

use crate::protocol::failure::Failure;
use serde::Serialize;
use std::io::Write;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

#[derive(Serialize)]
struct Line<'a, T: Serialize> {
    id: Option<u64>,
    event: &'a str,
    #[serde(flatten)]
    rest: T,
}

#[derive(Serialize)]
struct ResultField<T: Serialize> {
    result: T,
}

#[derive(Serialize)]
struct ErrorFields<'a> {
    what: &'a str,
    why: &'a str,
    remedy: &'a str,
}

/// Receives the answers of tasks. Cheap to clone.
#[derive(Clone)]
pub struct Emitter(Sender<Vec<u8>>);

impl Emitter {
    /// Starts the writing thread; it ends when the last clone of the emitter is gone.
    pub fn start(mut output: impl Write + Send + 'static) -> (Emitter, JoinHandle<()>) {
        let (sender, receiver) = channel::<Vec<u8>>();
        let writer = std::thread::spawn(move || {
            for line in receiver {
                if output
                    .write_all(&line)
                    .and_then(|()| output.flush())
                    .is_err()
                {
                    // Nobody reads any more; the end of our input will tell the agent.
                    return;
                }
            }
        });
        (Emitter(sender), writer)
    }

    pub fn ready(&self, id: u64, details: impl Serialize) {
        self.send(Some(id), "ready", details);
    }

    pub fn interval(&self, id: u64, figures: impl Serialize) {
        self.send(Some(id), "interval", figures);
    }

    pub fn done(&self, id: u64, result: impl Serialize) {
        self.send(Some(id), "done", ResultField { result });
    }

    pub fn error(&self, id: Option<u64>, failure: &Failure) {
        let fields = ErrorFields {
            what: &failure.what,
            why: &failure.why,
            remedy: &failure.remedy,
        };
        self.send(id, "error", fields);
    }

    /// Any other event; `rest` must serialize to an object.
    pub fn event(&self, id: u64, event: &str, rest: impl Serialize) {
        self.send(Some(id), event, rest);
    }

    fn send(&self, id: Option<u64>, event: &str, rest: impl Serialize) {
        let line = Line { id, event, rest };
        match serde_json::to_vec(&line) {
            Ok(mut text) => {
                text.push(b'\n');
                let _ = self.0.send(text);
            }
            Err(error) => {
                let remedy = "report this as a bug of culvert-probe";
                self.error(id, &Failure::new("answer", error.to_string(), remedy));
            }
        }
    }
}
