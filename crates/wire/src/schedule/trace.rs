//! A recorded link: the moments at which it could deliver a packet (mahimahi's format).
//!
//! Each line is a time in milliseconds, none before the one above it: an opportunity to deliver one
//! full packet. The last one is the period: then the trace starts again. Source: mahimahi(1),
//! mm-link, and its link_queue.cc.

/// What an opportunity delivers: one full Ethernet frame. What a shorter packet leaves of it, the
/// next ones in the queue may use; a longer packet takes several. Where nothing waits it is wasted.
pub const OPPORTUNITY_BYTES: u64 = 1514;

const NS_PER_MS: u64 = 1_000_000;
/// The latest valid time: a day.
const LONGEST_MS: u64 = 86_400_000;
/// 100 Gbit/s for several seconds; a limit on memory.
const MOST_OPPORTUNITIES: usize = 64_000_000;

/// The moments, in nanoseconds from the start of a period.
#[derive(Debug, PartialEq, Eq)]
pub struct Trace {
    moments_ns: Vec<u64>,
    period_ns: u64,
}

impl Trace {
    /// Read a trace; the error is a reason, with the number of the line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut moments_ns: Vec<u64> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let (line, number) = (line.trim(), index + 1);
            if line.is_empty() {
                continue;
            }
            let moment_ns = line
                .parse::<u64>()
                .ok()
                .filter(|ms| *ms <= LONGEST_MS)
                .map(|ms| ms * NS_PER_MS)
                .ok_or_else(|| format!("line {number} is no number of milliseconds up to a day"))?;
            if moments_ns.last().is_some_and(|last| moment_ns < *last) {
                return Err(format!("line {number} is earlier than the one before it"));
            }
            if moments_ns.len() == MOST_OPPORTUNITIES {
                return Err(format!("it has more than {MOST_OPPORTUNITIES} lines"));
            }
            moments_ns.push(moment_ns);
        }
        match moments_ns.last() {
            None => Err("it has no delivery opportunity".to_string()),
            Some(0) => Err("its last time is 0, so it has no length".to_string()),
            Some(&period_ns) => Ok(Self {
                moments_ns,
                period_ns,
            }),
        }
    }
}

/// Where in a trace the link is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cursor {
    origin_ns: u64,
    index: usize,
}

impl Cursor {
    pub fn new(origin_ns: u64) -> Self {
        Self {
            origin_ns,
            index: 0,
        }
    }

    /// When the next opportunity is.
    pub fn moment_ns(&self, trace: &Trace) -> u64 {
        self.origin_ns.saturating_add(trace.moments_ns[self.index])
    }

    pub fn step(&mut self, trace: &Trace) {
        self.index += 1;
        if self.index == trace.moments_ns.len() {
            self.index = 0;
            self.origin_ns = self.origin_ns.saturating_add(trace.period_ns);
        }
    }

    /// Let all opportunities before `now_ns` pass unused.
    pub fn skip_to(&mut self, trace: &Trace, now_ns: u64) {
        let since_ns = now_ns.saturating_sub(self.origin_ns);
        // the end of a period, which is its last opportunity, belongs to it
        let whole = since_ns.saturating_sub(1) / trace.period_ns * trace.period_ns;
        let within = since_ns - whole;
        let index = trace.moments_ns.partition_point(|moment| *moment < within);
        let target = Self {
            origin_ns: self.origin_ns + whole,
            index,
        };
        // never back: an opportunity is used once
        if (target.origin_ns, target.index) > (self.origin_ns, self.index) {
            *self = target;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn moments_go_on_after_the_last() {
        let trace = Trace::parse("0\n2\n2\n5\n").expect("a trace");
        let mut cursor = Cursor::new(100);
        let mut moments = Vec::new();
        for _ in 0..9 {
            moments.push((cursor.moment_ns(&trace) - 100) / NS_PER_MS);
            cursor.step(&trace);
        }
        assert_eq!(moments, [0, 2, 2, 5, 5, 7, 7, 10, 10]);
    }

    #[test]
    fn broken_files_are_told_by_line() {
        for (text, words) in [
            ("", "no delivery opportunity"),
            ("\n\n", "no delivery opportunity"),
            ("0\n0\n", "no length"),
            ("1\nx\n", "line 2"),
            ("-1\n", "line 1"),
            ("1.5\n", "line 1"),
            ("5\n\n4\n", "line 3 is earlier"),
            ("99999999999999999999\n", "line 1"),
        ] {
            let why = Trace::parse(text).expect_err(text);
            assert!(why.contains(words), "{text:?}: {why}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9\n -]{0,80}") {
            let _ = Trace::parse(&text);
        }

        #[test]
        fn skipping_is_stepping(
            mut moments in prop::collection::vec(0u64..30, 1..10), now_ms in 0u64..200,
        ) {
            moments.sort_unstable();
            prop_assume!(moments.last() != Some(&0));
            let text: String = moments.iter().map(|m| format!("{m}\n")).collect();
            let trace = Trace::parse(&text).expect("a trace");
            let (mut stepped, mut skipped) = (Cursor::new(7), Cursor::new(7));
            let now_ns = 7 + now_ms * NS_PER_MS;
            skipped.skip_to(&trace, now_ns);
            while stepped.moment_ns(&trace) < now_ns {
                stepped.step(&trace);
            }
            // at a seam, the last of one period and moment 0 of the next are at the same time
            prop_assert_eq!(stepped.moment_ns(&trace), skipped.moment_ns(&trace));
        }
    }
}
