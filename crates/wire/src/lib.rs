//! The wire: a cable between two nodes, and what happens to packets on it.
//!
//! ```text
//!   node a                       culvert-wire                       node b
//!   ┌─────────┐   read   ┌──────────────────────────┐   write   ┌─────────┐
//!   │ TAP dev ├─────────>│ Schedule: which, and when ├──────────>│ TAP dev │
//!   │         │<─────────┤ (one a direction)         │<──────────┤         │
//!   └─────────┘   write  └──────────────────────────┘   read    └─────────┘
//! ```
//!
//! The schedule is pure: it is told the time and knows no device. The cable around it moves bytes
//! and decides nothing.

pub mod cable;
pub mod chance;
pub mod command;
pub mod counters;
pub mod direction;
pub mod endpoint;
pub mod failure;
pub mod schedule;
pub mod tap;
