//! Distributions of times, as HDR histograms.

use base64::Engine;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use serde::Serialize;

pub const HIGHEST_NS: u64 = 60_000_000_000;

/// 1 ns to 60 s with three significant digits; what is beyond counts as the bound.
pub struct Latency(Histogram<u64>);

/// `histogram`: HdrHistogram's V2 encoding, compressed and in base64, as its libraries read it.
#[derive(Debug, Serialize)]
pub struct Summary {
    pub count: u64,
    pub min_ns: u64,
    pub p50_ns: u64,
    pub p90_ns: u64,
    pub p99_ns: u64,
    pub p99_9_ns: u64,
    pub p99_99_ns: u64,
    pub max_ns: u64,
    pub mean_ns: f64,
    pub histogram: String,
}

impl Default for Latency {
    fn default() -> Latency {
        let histogram = Histogram::new_with_bounds(1, HIGHEST_NS, 3);
        Latency(histogram.expect("the bounds are constants that the library accepts"))
    }
}

impl Latency {
    pub fn record(&mut self, ns: u64) {
        self.0.saturating_record(ns.clamp(1, HIGHEST_NS));
    }

    /// Takes in what another one has recorded.
    pub fn add(&mut self, other: &Latency) {
        self.0
            .add(&other.0)
            .expect("both have the same bounds and digits");
    }

    pub fn min_ns(&self) -> u64 {
        self.0.min()
    }

    pub fn mean_ns(&self) -> f64 {
        self.0.mean()
    }

    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        self.0.value_at_quantile(quantile)
    }

    /// The least time that the histogram does not distinguish from that quantile, as `min_ns` is.
    pub fn least_at_ns(&self, quantile: f64) -> u64 {
        self.0.lowest_equivalent(self.quantile_ns(quantile))
    }

    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// None if nothing was recorded: an empty distribution has no median.
    pub fn summary(&self) -> Option<Summary> {
        if self.0.is_empty() {
            return None;
        }
        Some(Summary {
            count: self.0.len(),
            min_ns: self.0.min(),
            p50_ns: self.quantile_ns(0.5),
            p90_ns: self.quantile_ns(0.9),
            p99_ns: self.quantile_ns(0.99),
            p99_9_ns: self.quantile_ns(0.999),
            p99_99_ns: self.quantile_ns(0.9999),
            max_ns: self.0.max(),
            mean_ns: self.0.mean(),
            histogram: self.encoded(),
        })
    }

    fn encoded(&self) -> String {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.0, &mut bytes)
            .expect("writing to memory does not fail");
        base64::engine::general_purpose::STANDARD.encode(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::Deserializer;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn three_digits_are_kept(mut times_ns in prop::collection::vec(1_u64..=HIGHEST_NS, 1..200)) {
            let mut latency = Latency::default();
            times_ns.iter().for_each(|&ns| latency.record(ns));
            times_ns.sort_unstable();
            let summary = latency.summary().unwrap();
            let median = times_ns[(times_ns.len() - 1) / 2] as f64;
            prop_assert!((summary.p50_ns as f64 - median).abs() <= median * 1e-3 + 1.0);
            let bytes = base64::engine::general_purpose::STANDARD.decode(summary.histogram).unwrap();
            let read: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
            prop_assert_eq!(read, latency.0);
        }
    }

    #[test]
    fn nothing_recorded_is_no_summary() {
        assert!(Latency::default().summary().is_none());
    }

    #[test]
    fn out_of_range_counts_as_the_bound() {
        let mut latency = Latency::default();
        latency.record(0);
        latency.record(u64::MAX);
        assert_eq!(latency.count(), 2);
    }
}
