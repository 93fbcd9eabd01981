//! Processors that do not fall asleep between packets that have their moment.
//!
//! A processor that sleeps needs tens of microseconds to wake up for a timer, in a virtual machine
//! more: it has to be scheduled by its host first. The kernel takes requests for the longest time that
//! it may take (pm_qos_interface.rst): this one holds as long as the file is open, so it ends with the
//! process. What runs on the processors is not disturbed: they only idle lightly.

use std::fs::{File, OpenOptions, read_to_string};
use std::io::Write;

const REQUESTS: &str = "/dev/cpu_dma_latency";
const DRIVER: &str = "/sys/devices/system/cpu/cpuidle/current_driver";

/// What a processor may take: one step of sleep (C1) on a machine of its own. In a virtual machine
/// even that is the host's to end, and nothing but none keeps it.
const LATENCY_US: i32 = 2;
const GUEST_LATENCY_US: i32 = 0;
const GUEST_DRIVER: &str = "haltpoll";

/// Processors are awake while it is there; without the right to ask it is of no effect.
pub struct Awake {
    _request: Option<File>,
}

impl Awake {
    pub fn keep() -> Self {
        let driver = read_to_string(DRIVER).unwrap_or_default();
        let latency_us = if driver.trim() == GUEST_DRIVER {
            GUEST_LATENCY_US
        } else {
            LATENCY_US
        };
        let ask = || -> std::io::Result<File> {
            let mut file = OpenOptions::new().write(true).open(REQUESTS)?;
            file.write_all(&latency_us.to_ne_bytes())?;
            Ok(file)
        };
        Self {
            _request: ask().ok(),
        }
    }
}
