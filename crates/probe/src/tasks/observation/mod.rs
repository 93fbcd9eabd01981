//! What a node sees of itself: its packets, its processors, its kernel's files.

pub mod accounting;
mod beside;
pub mod capture;
pub mod leaks;
pub mod read;
