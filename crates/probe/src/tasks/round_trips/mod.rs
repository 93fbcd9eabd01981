//! Requests that come back: how long they take, from when on, and up to what size.

pub mod echo;
pub mod echo_once;
pub mod first_answer;
pub mod noise_floor;
pub mod rtt;
