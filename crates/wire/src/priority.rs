//! A link does not wait for the programs that use it: where it may, its threads go before others.

/// How long it runs at a time. A short slice makes the scheduler let it run at once when it wakes up
/// (EEVDF, Linux 6.12; older kernels do not look at it).
const SLICE_NS: u64 = 100_000;
const HIGHEST_NICE: i32 = -20;

/// Of sched_setattr(2), first version.
#[repr(C)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

/// Let the calling thread run before others. Without the right to (no CAP_SYS_NICE) delays are less
/// exact on a busy machine.
pub fn come_first() {
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: libc::SCHED_OTHER as u32,
        flags: 0,
        nice: HIGHEST_NICE,
        priority: 0,
        runtime_ns: SLICE_NS,
        deadline_ns: 0,
        period_ns: 0,
    };
    // SAFETY: the structure is as long as it says, and is only read; 0 is the calling thread.
    unsafe {
        libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0);
    }
}
