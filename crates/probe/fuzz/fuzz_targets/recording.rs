#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| culvert_probe::entry_points::recording(bytes));
