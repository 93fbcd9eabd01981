//! The devices at the ends of a cable.

pub mod endpoint;
mod link_settings;
pub mod tap;
