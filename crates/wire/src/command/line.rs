//! The output of a running program: JSON lines.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::cable::Statistics;

#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Line {
    /// It reads commands; the devices of the cable that it was started with exist.
    Ready {
        #[serde(skip_serializing_if = "Option::is_none")]
        mtu: Option<u32>,
    },
    Statistics {
        elapsed_ns: u64,
        #[serde(skip_serializing_if = "String::is_empty")]
        cable: String,
        #[serde(flatten)]
        statistics: Statistics,
    },
    /// A command was executed.
    Done {
        elapsed_ns: u64,
        command: &'static str,
    },
    /// A command was refused; nothing has changed.
    Refused {
        elapsed_ns: u64,
        what: String,
        why: String,
        remedy: &'static str,
    },
    End {
        elapsed_ns: u64,
        reason: Reason,
        /// The counts of the cable that it was started with.
        #[serde(flatten)]
        statistics: Option<Statistics>,
        /// The counts of cables created by commands.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        cables: BTreeMap<String, Statistics>,
    },
}

/// The reason of its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    Signal,
    InputClosed,
    OutputClosed,
    Failed,
}
