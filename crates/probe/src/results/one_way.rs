//! One-way delay of a stream and its variation. Pure.

use crate::results::latency::{Latency, Summary};
use serde::{Deserialize, Serialize};

/// Whether sender and receiver use the same clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// Of one machine: CLOCK_MONOTONIC is the same in all its namespaces.
    #[default]
    Shared,
    /// Of two: the delay is not known, its variation is.
    Separate,
}

/// Transit times of all flows together.
pub struct OneWay {
    clock: Clock,
    delay: Latency,
    variation: Latency,
}

/// The state of each flow: its last packet.
#[derive(Debug, Clone, Default)]
pub struct Transit {
    last: Option<(u64, i64)>,
    jitter_ns: f64,
    /// Packets whose jitter is in the estimate.
    steps: u64,
}

/// Quantiles of the delay above its minimum: RFC 5481, section 4.2.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Pdv {
    p50_ns: u64,
    p90_ns: u64,
    p99_ns: u64,
    p99_9_ns: u64,
    max_ns: u64,
}

/// Quantiles of the difference to the packet before, without its sign: RFC 5481, section 4.1.
#[derive(Debug, PartialEq, Serialize)]
pub struct Ipdv {
    count: u64,
    p50_abs_ns: u64,
    p99_abs_ns: u64,
    max_abs_ns: u64,
    mean_abs_ns: f64,
}

impl OneWay {
    pub fn new(clock: Clock) -> OneWay {
        OneWay {
            clock,
            delay: Latency::default(),
            variation: Latency::default(),
        }
    }

    /// Records a packet; returns its transit time in ns (with separate clocks, off by a constant).
    pub fn record(
        &mut self,
        transit: &mut Transit,
        sequence: u64,
        sent_ns: u64,
        arrived_ns: u64,
    ) -> i64 {
        let transit_ns = arrived_ns.wrapping_sub(sent_ns) as i64;
        if self.clock == Clock::Shared {
            self.delay.record(u64::try_from(transit_ns).unwrap_or(0));
        }
        if let Some(variation_ns) = transit.step(sequence, transit_ns) {
            self.variation.record(variation_ns);
        }
        transit_ns
    }

    pub fn delay(&self) -> Option<Summary> {
        self.delay.summary()
    }

    pub fn pdv(&self) -> Option<Pdv> {
        let above = |quantile| self.delay.least_at_ns(quantile) - self.delay.min_ns();
        (self.delay.count() > 0).then(|| Pdv {
            p50_ns: above(0.5),
            p90_ns: above(0.9),
            p99_ns: above(0.99),
            p99_9_ns: above(0.999),
            max_ns: above(1.0),
        })
    }

    pub fn ipdv(&self) -> Option<Ipdv> {
        (self.variation.count() > 0).then(|| Ipdv {
            count: self.variation.count(),
            p50_abs_ns: self.variation.quantile_ns(0.5),
            p99_abs_ns: self.variation.quantile_ns(0.99),
            max_abs_ns: self.variation.quantile_ns(1.0),
            mean_abs_ns: self.variation.mean_ns(),
        })
    }
}

impl Transit {
    /// The size of the difference to the packet before, if that was the one sent before.
    fn step(&mut self, sequence: u64, transit_ns: i64) -> Option<u64> {
        let (before, before_ns) = self.last.replace((sequence, transit_ns))?;
        let difference_ns = transit_ns.wrapping_sub(before_ns).unsigned_abs();
        // RFC 3550, section 6.4.1: of packets in the order of their arrival.
        self.jitter_ns += (difference_ns as f64 - self.jitter_ns) / 16.0;
        self.steps += 1;
        (before.wrapping_add(1) == sequence).then_some(difference_ns)
    }

    /// RFC 3550's estimate, as after the last packet.
    pub fn jitter_ns(&self) -> Option<f64> {
        (self.steps > 0).then_some(self.jitter_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_constant_delay_varies_by_nothing() {
        let mut one_way = OneWay::new(Clock::Shared);
        let mut transit = Transit::default();
        for n in 0..100 {
            one_way.record(&mut transit, n, n * 1000, n * 1000 + 50_000_000);
        }
        assert_eq!(one_way.delay().unwrap().count, 100);
        assert_eq!(one_way.pdv().unwrap().max_ns, 0);
        assert_eq!(transit.jitter_ns(), Some(0.0));
        // The histogram's least value is 1.
        assert_eq!(one_way.ipdv().unwrap().max_abs_ns, 1);
    }

    #[test]
    fn jitter_follows_the_rfc() {
        let mut one_way = OneWay::new(Clock::Separate);
        let mut transit = Transit::default();
        for (n, delay) in [100, 116, 84].into_iter().enumerate() {
            one_way.record(&mut transit, n as u64, 1 << 40, delay);
        }
        assert_eq!(transit.jitter_ns(), Some(1.0 + (32.0 - 1.0) / 16.0));
        assert!(one_way.delay().is_none() && one_way.pdv().is_none());
        assert_eq!(one_way.ipdv().unwrap().max_abs_ns, 32);
    }

    proptest! {
        #[test]
        fn any_times_are_survived(packets: Vec<(u64, u64, u64)>) {
            for clock in [Clock::Shared, Clock::Separate] {
                let mut one_way = OneWay::new(clock);
                let mut transit = Transit::default();
                for &(sequence, sent_ns, arrived_ns) in &packets {
                    one_way.record(&mut transit, sequence, sent_ns, arrived_ns);
                }
                one_way.pdv();
                one_way.ipdv();
            }
        }
    }
}
