//! A link does not wait for the programs that use it: where it may, its threads go before others.

const HIGHEST_NICE: i32 = -20;

/// Let the calling thread run as soon as it wakes up: round robin at the lowest real-time priority,
/// else the best nice value. Without the right to either (no CAP_SYS_NICE) delays are less exact on a
/// busy machine. The kernel keeps a share for others (sched_rt_runtime_us, 5 %).
pub fn come_first() {
    // SAFETY: the structure is plain and is only read; Linux takes 0 for the calling thread.
    unsafe {
        let mut parameters: libc::sched_param = std::mem::zeroed();
        parameters.sched_priority = 1;
        let policy = libc::SCHED_RR | libc::SCHED_RESET_ON_FORK;
        if libc::sched_setscheduler(0, policy, &raw const parameters) != 0 {
            libc::setpriority(libc::PRIO_PROCESS, 0, HIGHEST_NICE);
        }
    }
}
