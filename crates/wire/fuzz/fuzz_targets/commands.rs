//! Standard input of a cable: whatever it is, it is a command or refused.
#![no_main]

use culvert_wire::command::control::{Command, Lines};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for command in Lines::default().feed(bytes) {
        if let Ok(Command::Set { conditions, .. }) = command {
            // a fuzzer has no business with files that it names by chance
            if conditions.trace.is_none() && conditions.jitter.is_none() {
                let _ = conditions.conditions();
            }
        }
    }
});
