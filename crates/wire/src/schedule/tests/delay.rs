//! When packets depart, and in which order.

use proptest::prelude::*;

use super::strategies::{anything, conditions, traffic};
use super::{NS_PER_S, pass};
use crate::schedule::chance::Probability;
use crate::schedule::jitter::Jitter;
use crate::schedule::{Capacity, Conditions, Drop};

proptest! {
    #[test]
    fn no_packet_departs_before_it_came(
        conditions in anything(), seed: u64, offered in traffic(),
    ) {
        let departures = pass(conditions, seed, &offered).departures;
        prop_assert!(departures.iter().all(|packet| packet.departure_ns >= packet.arrival_ns));
    }

    #[test]
    fn delay_is_never_below_what_was_asked(
        conditions in conditions(), seed: u64, offered in traffic(),
    ) {
        for packet in pass(conditions.clone(), seed, &offered).departures {
            let delay_ns = packet.departure_ns - packet.arrival_ns;
            let bits = (packet.bytes + u64::from(conditions.overhead_bytes)) * 8;
            let serialisation_ns = match conditions.capacity {
                Capacity::Rate(rate) => {
                    u128::from(bits) * u128::from(NS_PER_S) / u128::from(rate.get())
                }
                Capacity::Unlimited | Capacity::Trace(_) => 0,
            };
            prop_assert!(u128::from(delay_ns) >= u128::from(conditions.delay_ns) + serialisation_ns);
        }
    }

    #[test]
    fn without_a_rate_delay_is_exact(
        mut conditions in conditions(), seed: u64, offered in traffic(),
    ) {
        conditions.capacity = Capacity::Unlimited;
        let passage = pass(conditions.clone(), seed, &offered);
        prop_assert!(passage.because(Drop::QueueFull).is_empty());
        for packet in passage.departures {
            prop_assert_eq!(packet.departure_ns - packet.arrival_ns, conditions.delay_ns);
        }
    }

    #[test]
    fn order_is_kept(conditions in conditions(), seed: u64, offered in traffic()) {
        let departures = pass(conditions, seed, &offered).departures;
        prop_assert!(departures.windows(2).all(|pair| pair[0].number < pair[1].number
            && pair[0].departure_ns <= pair[1].departure_ns));
    }

    #[test]
    fn jitter_keeps_order_where_it_is_to(
        conditions in anything(), seed: u64, offered in traffic(),
    ) {
        let conditions = Conditions {
            keep_order: true,
            reorder: Probability::NEVER,
            duplicate: Probability::NEVER,
            ..conditions
        };
        let departures = pass(conditions, seed, &offered).departures;
        prop_assert!(departures.windows(2).all(|pair| pair[0].number < pair[1].number
            && pair[0].departure_ns <= pair[1].departure_ns));
    }
}

#[test]
fn jitter_that_is_held_is_the_same_for_all_packets_of_a_time() {
    let conditions = Conditions {
        jitter: Some(Jitter::Pareto {
            spread_ns: 24_000_000,
        }),
        jitter_hold_ns: 100_000_000,
        keep_order: false,
        ..Conditions::default()
    };
    // 1000 packets a second for ten slots
    let passage = pass(conditions, 3, &[(1_000_000, 100); 1_000]);
    let mut delays: Vec<(u64, u64)> = passage
        .departures
        .iter()
        .map(|packet| {
            (
                packet.arrival_ns / 100_000_000,
                packet.departure_ns - packet.arrival_ns,
            )
        })
        .collect();
    delays.sort_unstable();
    delays.dedup();
    assert_eq!(delays.len(), 11, "one delay a slot: {delays:?}");
    delays.dedup_by_key(|(_, delay_ns)| *delay_ns);
    assert_eq!(delays.len(), 11, "and another in each");
}

#[test]
fn a_packet_that_skips_its_delay_overtakes() {
    let conditions = Conditions {
        delay_ns: 1000,
        reorder: Probability::new(0.25).expect("a probability"),
        ..Conditions::default()
    };
    let passage = pass(conditions, 1, &[(1, 60); 1000]);
    let jumped = passage
        .departures
        .iter()
        .filter(|d| d.departure_ns == d.arrival_ns)
        .count();
    let delayed = passage
        .departures
        .iter()
        .filter(|d| d.departure_ns == d.arrival_ns + 1000)
        .count();
    assert_eq!(jumped + delayed, 1000);
    // sigma 13.7
    assert!((195..=305).contains(&jumped), "{jumped}");
}
