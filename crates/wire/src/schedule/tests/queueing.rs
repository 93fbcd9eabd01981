//! What waits in front of the link, and what is dropped there.

use proptest::prelude::*;

use super::strategies::{conditions, rate, traffic};
use super::{NS_PER_S, pass};
use crate::schedule::codel::Codel;
use crate::schedule::loss::Loss;
use crate::schedule::{Conditions, Drop, QueueLimit};

proptest! {
    #[test]
    fn the_queue_never_holds_more_than_its_limit(
        mut conditions in conditions(), rate_bps in 1_000u64..20_000_000_000, seed: u64,
        offered in traffic(),
    ) {
        conditions.capacity = rate(rate_bps);
        let passage = pass(conditions.clone(), seed, &offered);
        let largest = offered.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
        match conditions.queue {
            QueueLimit::Packets(limit) => prop_assert!(passage.greatest_backlog.0 <= limit),
            // a packet longer than the limit still finds an idle link
            QueueLimit::Bytes(limit) =>
                prop_assert!(passage.greatest_backlog.1 <= limit.max(largest)),
        }
    }
}

#[test]
fn tail_drop_refuses_the_last_not_the_first() {
    let conditions = Conditions {
        capacity: rate(8_000),
        queue: QueueLimit::Packets(2),
        ..Conditions::default()
    };
    let passage = pass(conditions, 0, &[(0, 100); 5]);
    assert_eq!(passage.because(Drop::QueueFull), [2, 3, 4]);
    let times: Vec<u64> = passage.departures.iter().map(|d| d.departure_ns).collect();
    assert_eq!(
        times,
        [NS_PER_S / 10, NS_PER_S / 5],
        "100 bytes at 1000 bytes a second"
    );
}

#[test]
fn an_emulators_queue_bounds_the_rate_of_delayed_packets() {
    // 10 packets per 50 ms are 200 a second, whatever is offered: here 10,000 a second for 2 s
    let conditions = Conditions {
        limit_packets: Some(10),
        delay_ns: NS_PER_S / 20,
        ..Conditions::default()
    };
    let passage = pass(conditions.clone(), 0, &[(100_000, 1258); 20_000]);
    assert_eq!(passage.departures.len(), 400);
    assert_eq!(passage.because(Drop::QueueFull).len(), 19_600);
    // of a sender that is slower nothing is dropped
    let passage = pass(conditions, 0, &[(5_000_000, 1258); 400]);
    assert_eq!(passage.departures.len(), 400);
}

#[test]
fn a_packet_that_is_lost_takes_no_place_in_an_emulators_queue() {
    let conditions = Conditions {
        limit_packets: Some(2),
        delay_ns: NS_PER_S,
        loss: Loss::Listed([1].as_slice().into()),
        ..Conditions::default()
    };
    let passage = pass(conditions, 0, &[(0, 100); 4]);
    assert_eq!(passage.because(Drop::Lost), [1]);
    assert_eq!(passage.because(Drop::QueueFull), [3]);
}

#[test]
fn codel_keeps_the_queue_short_where_tail_drop_does_not() {
    // 1 Mbit/s offered twice that by 1250-byte packets, for 20 s: 10 ms each
    let offered = [(5_000_000, 1250); 4_000];
    let median_ns = |codel: Option<Codel>| {
        let conditions = Conditions {
            capacity: rate(1_000_000),
            codel,
            ..Conditions::default()
        };
        let passage = pass(conditions, 0, &offered);
        let mut waits: Vec<u64> = passage
            .departures
            .iter()
            .map(|d| d.departure_ns - d.arrival_ns)
            .collect();
        assert_eq!(passage.because(Drop::Codel).is_empty(), codel.is_none());
        waits.sort_unstable();
        waits[waits.len() / 2]
    };
    let (with, without) = (median_ns(Some(Codel::default())), median_ns(None));
    assert!(without > 5 * NS_PER_S, "{without}");
    // an unresponsive flood: CoDel needs a while to drop half of it
    assert!(with * 4 < without, "{with} against {without}");
}

#[test]
fn codel_leaves_a_link_alone_that_keeps_up() {
    let conditions = Conditions {
        capacity: rate(1_000_000),
        codel: Some(Codel::default()),
        ..Conditions::default()
    };
    let passage = pass(conditions, 0, &[(10_000_000, 1250); 2_000]);
    assert!(passage.dropped.is_empty());
}

#[test]
fn codel_before_a_delay_makes_no_packet_late() {
    let conditions = Conditions {
        capacity: rate(1_000_000),
        codel: Some(Codel::default()),
        delay_ns: 10_000_000,
        ..Conditions::default()
    };
    let mut offered = Vec::new();
    for _ in 0..8 {
        offered.push((97_000_000, 1514));
        offered.extend([(0, 1514); 15]);
    }
    let passage = pass(conditions, 0, &offered);
    assert!(!passage.because(Drop::Codel).is_empty());
    assert_eq!(passage.latest_ns, 0);
}
