//! The wire: a cable between two nodes, and what happens to packets on it.
//!
//! ```text
//!   node a                       culvert-wire                       node b
//!   ┌─────────┐  read   ┌───────────────────────────────────────┐  write  ┌─────────┐
//!   │ TAP dev ├────────>│ Cut -> Schedule: which, when -> Egress ├────────>│ TAP dev │
//!   │         │<────────┤ (one a direction)              joins   │<────────┤         │
//!   └─────────┘  write  └───────────────────────────────────────┘  read   └─────────┘
//! ```
//!
//! The schedule is pure: the time is an argument, and it knows no device. The cable around it moves bytes
//! and decides nothing. A frame stays where it was read (`Arena`) until the last of the packets that
//! it stands for has left.

pub mod cable;
pub mod command;
pub mod device;
pub mod direction;
pub mod failure;
pub mod packet;
pub mod schedule;
pub mod stop;
