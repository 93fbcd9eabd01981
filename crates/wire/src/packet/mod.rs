//! Packets as a TAP device hands them over, and as a wire carries them.
//!
//! All of it reads untrusted bytes: every length in a packet is checked before its use.

pub mod checksum;
pub mod cut;
pub mod layout;
pub mod vnet;
