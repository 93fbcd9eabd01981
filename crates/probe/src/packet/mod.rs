//! Packets: those that the probe makes, and those that it sees.

pub mod bytes;
pub mod counts;
pub mod ends;
pub mod flow;
pub mod header;
pub mod icmp;
pub mod marks;
pub mod message;
pub mod neighbour;
pub mod noise;
pub mod scope;
pub mod seen;
pub mod sizes;
pub mod syn;
pub mod table;
