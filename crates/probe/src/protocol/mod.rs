//! Lines of JSON: numbered requests with their values in, answers out.

pub mod emitter;
pub mod failure;
pub mod lines;
pub mod requests;
pub mod values;
