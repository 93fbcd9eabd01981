//! A link must not wait for the programs that use it: its threads get priority if permitted.

const HIGHEST_NICE: i32 = -20;

/// The scheduling priority of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// Before others, near the thread that woke it up: what passes at once has no moment of its own.
    First,
    /// At once when its time has come: round robin at the lowest real-time priority. The kernel keeps
    /// a share for others (sched_rt_runtime_us, 5 %).
    OnTime,
}

/// Let others of that priority run first, if any wait: a flood in one direction would else hold up
/// another, on the same processor, for a whole slice of the round robin (100 ms).
pub fn give_way() {
    // SAFETY: it takes nothing, and always succeeds on Linux.
    unsafe { libc::sched_yield() };
}

/// Let the calling thread run so. Without the right to (no CAP_SYS_NICE) delays are less exact on a
/// busy machine.
pub fn run_as(urgency: Urgency) {
    // SAFETY: the structure is plain and is only read; Linux takes 0 for the calling thread.
    unsafe {
        let mut parameters: libc::sched_param = std::mem::zeroed();
        let policy = match urgency {
            Urgency::First => libc::SCHED_OTHER,
            Urgency::OnTime => {
                parameters.sched_priority = 1;
                libc::SCHED_RR | libc::SCHED_RESET_ON_FORK
            }
        };
        libc::sched_setscheduler(0, policy, &raw const parameters);
        libc::setpriority(libc::PRIO_PROCESS, 0, HIGHEST_NICE);
    }
}
