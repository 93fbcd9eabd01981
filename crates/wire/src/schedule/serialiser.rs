//! A link that sends one packet after the other, exact to a fraction of a nanosecond so that
//! rounding never adds up.

use std::num::NonZeroU64;

const NS_PER_S: u128 = 1_000_000_000;

#[derive(Debug, Default)]
pub struct Serialiser {
    free_ns: u64,
    /// Beyond `free_ns`, in units of 1 / rate nanoseconds.
    fraction: u64,
}

impl Serialiser {
    /// When it is free, rounded up.
    pub fn free_ns(&self) -> u64 {
        self.free_ns.saturating_add(u64::from(self.fraction > 0))
    }

    /// What is on the link stays on it as long as it would have; the next packet sees the new rate.
    pub fn change_rate(&mut self) {
        (self.free_ns, self.fraction) = (self.free_ns(), 0);
    }

    /// When a packet that is ready at `ready_ns` will have been sent, rounded up.
    pub fn send(&mut self, ready_ns: u64, bytes: u64, rate_bps: NonZeroU64) -> u64 {
        if ready_ns > self.free_ns() {
            (self.free_ns, self.fraction) = (ready_ns, 0);
        }
        let rate = u128::from(rate_bps.get());
        let work = u128::from(bytes) * 8 * NS_PER_S + u128::from(self.fraction);
        let whole_ns = u64::try_from(work / rate).unwrap_or(u64::MAX);
        self.free_ns = self.free_ns.saturating_add(whole_ns);
        // less than the rate, which is a u64
        self.fraction = (work % rate) as u64;
        self.free_ns()
    }
}
