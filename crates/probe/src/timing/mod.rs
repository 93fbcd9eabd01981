//! The clocks, when packets are due (evenly, at random, in frames, for a while and then not), and
//! waits that a request ends.

pub mod clock;
pub mod frames;
pub mod on_off;
pub mod pace;
pub mod random;
pub mod schedule;
pub mod stop;
pub mod ticker;
pub mod timetable;
