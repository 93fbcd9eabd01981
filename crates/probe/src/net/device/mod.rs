//! The interfaces of this network namespace.

pub mod egress;
pub mod ethtool;
pub mod netlink;
