//! What a running program says: JSON lines.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::cable::Statistics;
use crate::record::Saved;

#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Line {
    /// It listens; the devices of the cable that it was started with are there.
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
    /// A command was carried out.
    Done {
        elapsed_ns: u64,
        command: &'static str,
        #[serde(flatten)]
        saved: Option<Saved>,
    },
    /// A command was not; all goes on as it was.
    Refused {
        elapsed_ns: u64,
        what: String,
        why: String,
        remedy: &'static str,
    },
    End {
        elapsed_ns: u64,
        reason: Reason,
        /// Of the cable that it was started with.
        #[serde(flatten)]
        statistics: Option<Statistics>,
        /// Of those that commands have made.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        cables: BTreeMap<String, Statistics>,
    },
}

/// Why it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    Signal,
    InputClosed,
    OutputClosed,
    Failed,
}
