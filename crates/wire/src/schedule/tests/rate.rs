//! How fast the link takes packets: by a rate or by a trace.

use proptest::prelude::*;

use super::strategies::{conditions, rate, traffic};
use super::{NS_PER_S, Offered, facts, pass};
use crate::schedule::trace::OPPORTUNITY_BYTES;
use crate::schedule::{Capacity, Chance, Conditions, Fate, Outcome, QueueLimit, Schedule, trace};

proptest! {
    #[test]
    fn the_rate_is_never_exceeded_in_any_window(
        mut conditions in conditions(), rate_bps in 1_000u64..20_000_000_000, seed: u64,
        offered in traffic(),
    ) {
        conditions.capacity = rate(rate_bps);
        let departures = pass(conditions.clone(), seed, &offered).departures;
        for (first, opening) in departures.iter().enumerate() {
            // what departs at the opening is the one packet that may come on top
            let mut bits = 0u128;
            for packet in &departures[first + 1..] {
                bits += u128::from(packet.bytes + u64::from(conditions.overhead_bytes)) * 8;
                let window_ns = u128::from(packet.departure_ns - opening.departure_ns);
                // one nanosecond: departures are rounded up to whole ones
                prop_assert!(
                    bits * u128::from(NS_PER_S) <= u128::from(rate_bps) * (window_ns + 1)
                );
            }
        }
    }

    #[test]
    fn a_busy_link_wastes_no_time(
        rate_bps in 1_000u64..20_000_000_000, bytes in prop::collection::vec(1..9000u64, 1..300),
    ) {
        let conditions = Conditions {
            capacity: rate(rate_bps),
            queue: QueueLimit::Bytes(u64::MAX),
            ..Conditions::default()
        };
        let offered: Vec<Offered> = bytes.iter().map(|bytes| (0, *bytes)).collect();
        let departures = pass(conditions, 0, &offered).departures;
        let mut bits = 0u128;
        for packet in departures {
            bits += u128::from(packet.bytes) * 8;
            let exact_ns = (bits * u128::from(NS_PER_S)).div_ceil(u128::from(rate_bps));
            prop_assert_eq!(u128::from(packet.departure_ns), exact_ns);
        }
    }

    #[test]
    fn a_trace_delivers_no_more_than_its_opportunities(
        moments in prop::collection::vec(0u64..50, 1..30), offered in traffic(),
    ) {
        let mut moments = moments;
        moments.sort_unstable();
        moments.push(50);
        let text: String = moments.iter().map(|moment| format!("{moment}\n")).collect();
        let trace = trace::Trace::parse(&text).expect("a trace");
        let conditions = Conditions {
            capacity: Capacity::Trace(trace.into()),
            queue: QueueLimit::Bytes(u64::MAX),
            ..Conditions::default()
        };
        let departures = pass(conditions, 0, &offered).departures;
        prop_assert_eq!(departures.len(), offered.len());
        for (first, opening) in departures.iter().enumerate() {
            let mut bytes = 0;
            for packet in &departures[first + 1..] {
                bytes += packet.bytes;
                // opportunities of the closed window; what came before may have been sent in part
                let (from, to) = (opening.departure_ns, packet.departure_ns);
                let opportunities = (from / 50_000_000..=to / 50_000_000)
                    .flat_map(|period| moments.iter().map(move |m| period * 50_000_000 + m * 1_000_000))
                    .filter(|moment| (from..=to).contains(moment))
                    .count() as u64;
                // the last one of a period and the first of the next are at the same time
                prop_assert!(bytes <= (opportunities + 2) * OPPORTUNITY_BYTES, "{} {}", bytes, opportunities);
            }
        }
    }
}

#[test]
fn rounding_does_not_add_up() {
    // 1514 bytes at 1 Gbit/s are 12112 ns; at 7 bit/ns they are 1730.28...
    let conditions = Conditions {
        capacity: rate(7_000_000_000),
        queue: QueueLimit::Bytes(u64::MAX),
        ..Conditions::default()
    };
    let last = pass(conditions, 0, &[(0, 1514); 7_000]).departures[6_999];
    assert_eq!(last.departure_ns, 12_112_000);
}

#[test]
fn overhead_takes_time_on_the_link() {
    let conditions = Conditions {
        capacity: rate(NS_PER_S * 8),
        overhead_bytes: 24,
        ..Conditions::default()
    };
    let passage = pass(conditions, 0, &[(0, 60)]);
    assert_eq!(passage.departures[0].departure_ns, 84);
}

#[test]
fn what_waits_sees_the_new_rate() {
    let slow = Conditions {
        capacity: rate(8_000),
        ..Conditions::default()
    };
    let mut schedule = Schedule::new(slow.clone(), Chance::new(0, 0));
    for number in 0..3 {
        assert_eq!(schedule.offer(0, facts(1000), number).first, Outcome::Held);
    }
    // the first is on the link for a second; the others take a millisecond each behind it
    schedule.change(
        NS_PER_S / 2,
        Conditions {
            capacity: rate(8_000_000),
            ..slow
        },
    );
    let mut due = Vec::new();
    while let Some(at_ns) = schedule.next_event_ns() {
        if let Some((Fate::Departs { due_ns, .. }, number)) = schedule.take(at_ns) {
            due.push((number, due_ns));
        }
    }
    assert_eq!(due, [(0, NS_PER_S), (1, 1_001_000_000), (2, 1_002_000_000)]);
}

#[test]
fn what_fell_due_in_a_sleep_is_late_and_what_the_rate_kept_back_is_not() {
    let conditions = Conditions {
        capacity: rate(1_000_000_000),
        ..Conditions::default()
    };
    let mut schedule = Schedule::new(conditions, Chance::new(0, 0));
    for _ in 0..1_000 {
        assert_eq!(schedule.offer(0, facts(1514), ()).first, Outcome::Held);
    }
    let awake_ns = 5_000_000;
    let (mut now_ns, mut behind) = (awake_ns, 0);
    loop {
        while let Some((fate, ())) = schedule.take(now_ns) {
            let Fate::Departs {
                due_ns, late_ns, ..
            } = fate
            else {
                panic!("none is dropped");
            };
            assert_eq!(late_ns, awake_ns.saturating_sub(due_ns));
            behind += usize::from(due_ns > awake_ns && now_ns > due_ns);
        }
        match schedule.next_event_ns() {
            Some(at_ns) => now_ns = now_ns.max(at_ns),
            None => break,
        }
    }
    assert!(behind > 100, "{behind}");
}
