//! Clocks, in nanoseconds.

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};

const NS_PER_S: u64 = 1_000_000_000;

fn now_ns(clock: ClockId) -> u64 {
    // Both clocks exist on every kernel and are never negative.
    clock_gettime(clock).map_or(0, |time| to_ns(&time))
}

fn to_ns(time: &TimeSpec) -> u64 {
    time.tv_sec() as u64 * NS_PER_S + time.tv_nsec() as u64
}

/// CLOCK_MONOTONIC: the same in every namespace of a machine.
pub fn monotonic_ns() -> u64 {
    now_ns(ClockId::CLOCK_MONOTONIC)
}

/// Seconds since a moment of `monotonic_ns`.
pub fn seconds_since(past_ns: u64) -> f64 {
    monotonic_ns().saturating_sub(past_ns) as f64 / 1e9
}

/// CLOCK_REALTIME: that of the kernel's packet timestamps.
pub fn realtime_ns() -> u64 {
    now_ns(ClockId::CLOCK_REALTIME)
}

/// CLOCK_REALTIME less CLOCK_MONOTONIC, by the closest of a few readings.
pub fn realtime_offset_ns() -> i128 {
    const READINGS: usize = 5;
    let readings = (0..READINGS).map(|_| {
        let (before_ns, real_ns, after_ns) = (monotonic_ns(), realtime_ns(), monotonic_ns());
        let middle_ns = before_ns + (after_ns - before_ns) / 2;
        (
            after_ns - before_ns,
            i128::from(real_ns) - i128::from(middle_ns),
        )
    });
    readings.min().map_or(0, |(_, offset_ns)| offset_ns)
}

/// Lets this thread's timers fire on time: the kernel's default slack is 50 us.
pub fn use_exact_timers() {
    // SAFETY: PR_SET_TIMERSLACK takes one integer and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
}
