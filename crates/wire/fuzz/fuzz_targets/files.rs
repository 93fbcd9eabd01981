//! Traces and lists of delays.
#![no_main]

use culvert_wire::command::requested::delays;
use culvert_wire::schedule::trace::Trace;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = Trace::parse(text);
    let _ = delays(text);
});
