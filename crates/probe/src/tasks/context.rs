//! The interface of the agent to a running task.

use crate::protocol::emitter::Emitter;
use crate::timing::stop::Stop;
use serde::Serialize;
use std::sync::Arc;

pub struct Context {
    id: u64,
    emitter: Emitter,
    pub stop: Arc<Stop>,
}

impl Context {
    pub fn new(id: u64, emitter: Emitter, stop: Arc<Stop>) -> Context {
        Context { id, emitter, stop }
    }

    /// Reports that the task listens or has started.
    pub fn ready(&self, details: impl Serialize) {
        self.emitter.ready(self.id, details);
    }

    /// Reports figures of the interval that has just ended.
    pub fn interval(&self, figures: impl Serialize) {
        self.emitter.interval(self.id, figures);
    }
}

/// The `ready` of a task that listens.
#[derive(Serialize)]
pub struct Listening {
    pub port: u16,
}

/// The `ready` of a task that does not.
#[derive(Serialize)]
pub struct Started {
    pub started_ns: u64,
}
