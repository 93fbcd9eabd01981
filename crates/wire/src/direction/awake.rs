//! Keeps processors out of deep sleep while packets wait for their departure.
//!
//! A sleeping processor needs tens of microseconds to wake up for a timer, and more in a virtual
//! machine, which its host must schedule first. The kernel accepts requests for the longest wake-up
//! latency (pm_qos_interface.rst): this request holds as long as the file is open, so it ends with
//! the process. It does not affect programs: it only limits the depth of idle states.

use std::fs::{File, OpenOptions, read_to_string};
use std::io::Write;

const REQUESTS: &str = "/dev/cpu_dma_latency";
const DRIVER: &str = "/sys/devices/system/cpu/cpuidle/current_driver";

/// The requested latency. A physical machine may use the first sleep state (C1). In a virtual
/// machine the host would have to end even that state, so none is allowed.
const LATENCY_US: i32 = 2;
const GUEST_LATENCY_US: i32 = 0;
const GUEST_DRIVER: &str = "haltpoll";

/// Processors stay awake while it exists; it has no effect without the privilege to request this.
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
        let request = || -> std::io::Result<File> {
            let mut file = OpenOptions::new().write(true).open(REQUESTS)?;
            file.write_all(&latency_us.to_ne_bytes())?;
            Ok(file)
        };
        Self {
            _request: request().ok(),
        }
    }
}
