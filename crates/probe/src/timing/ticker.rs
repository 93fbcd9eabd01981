//! The intervals of a series.

/// Tells when an interval is over. Boundaries are absolute, so that they never drift.
pub struct Ticker {
    next_ns: u64,
    step_ns: u64,
}

impl Ticker {
    pub fn new(start_ns: u64, step_ms: u32) -> Ticker {
        let step_ns = u64::from(step_ms.max(1)) * 1_000_000;
        Ticker {
            next_ns: start_ns.saturating_add(step_ns),
            step_ns,
        }
    }

    /// True once per boundary passed; several boundaries passed at once count as one.
    pub fn passed(&mut self, now_ns: u64) -> bool {
        if now_ns < self.next_ns {
            return false;
        }
        let behind = (now_ns - self.next_ns) / self.step_ns + 1;
        self.next_ns = self.next_ns.saturating_add(behind * self.step_ns);
        true
    }

    pub fn next_ns(&self) -> u64 {
        self.next_ns
    }
}

#[cfg(test)]
mod tests {
    use super::Ticker;

    #[test]
    fn boundaries_do_not_drift() {
        let mut ticker = Ticker::new(0, 100);
        assert!(!ticker.passed(99_999_999));
        assert!(ticker.passed(130_000_000));
        assert!(!ticker.passed(199_999_999));
        assert!(ticker.passed(450_000_000));
        assert_eq!(ticker.next_ns(), 500_000_000);
    }
}
