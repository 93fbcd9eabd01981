//! Packets as a TAP device hands them over, and as a wire carries them.
//!
//! All of it reads untrusted bytes: no length in a packet is believed before it is checked.

pub mod checksum;
pub mod cut;
pub mod layout;
pub mod vnet;
