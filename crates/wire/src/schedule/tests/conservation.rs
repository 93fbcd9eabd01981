//! No packet is lost or made, at any times of the calls.

use proptest::prelude::*;

use super::strategies::{anything, traffic};
use super::{Passage, Polls, facts, pass, pass_polling};
use crate::schedule::{Chance, Conditions, Outcome, Schedule};

proptest! {
    #[test]
    fn every_packet_departs_or_is_dropped_once(
        conditions in anything(), seed: u64, offered in traffic(),
    ) {
        let duplicates = conditions.duplicate.value() > 0.0;
        let passage = pass(conditions, seed, &offered);
        let mut numbers: Vec<u64> = passage.departures.iter().map(|d| d.number).collect();
        numbers.extend(passage.dropped.iter().map(|(_, number)| *number));
        prop_assert_eq!(numbers.len() as u64, offered.len() as u64 + passage.copies);
        prop_assert!(duplicates || passage.copies == 0);
        numbers.sort_unstable();
        numbers.dedup();
        prop_assert_eq!(numbers, (0..offered.len() as u64).collect::<Vec<_>>());
    }

    #[test]
    fn being_called_late_changes_nothing(
        conditions in anything(), seed: u64, offered in traffic(),
    ) {
        // memory is the one thing that is freed only by a call
        let conditions = Conditions { in_flight_limit_bytes: u64::MAX, ..conditions };
        let on_time = pass_polling(conditions.clone(), seed, &offered, Polls::OnTime);
        let late = pass_polling(conditions, seed, &offered, Polls::Late);
        let sorted = |passage: &Passage| {
            let mut all: Vec<_> =
                passage.departures.iter().map(|d| (d.departure_ns, d.number)).collect();
            all.sort_unstable();
            let mut dropped: Vec<_> =
                passage.dropped.iter().map(|(why, number)| (*number, format!("{why:?}"))).collect();
            dropped.sort_unstable();
            (all, dropped)
        };
        prop_assert_eq!(sorted(&on_time), sorted(&late));
    }

    #[test]
    fn changing_conditions_loses_no_packet(
        all in prop::collection::vec((anything(), traffic()), 1..5), seed: u64,
    ) {
        let mut schedule = Schedule::new(Conditions::default(), Chance::new(seed, 0));
        let (mut now_ns, mut offered, mut ended) = (0, 0u64, 0u64);
        for (conditions, traffic) in all {
            schedule.change(now_ns, conditions);
            for (gap_ns, bytes) in traffic {
                now_ns += gap_ns;
                let outcome = schedule.offer(now_ns, facts(bytes), ());
                for outcome in [Some(outcome.first), outcome.copy].into_iter().flatten() {
                    offered += 1;
                    ended += u64::from(outcome != Outcome::Held);
                }
                while schedule.take(now_ns).is_some() { ended += 1; }
            }
        }
        while let Some(due_ns) = schedule.next_event_ns() {
            while schedule.take(due_ns).is_some() { ended += 1; }
        }
        prop_assert_eq!(offered, ended);
    }

    #[test]
    fn a_clock_that_goes_back_breaks_nothing(
        conditions in anything(), times in prop::collection::vec(any::<u64>(), 1..100),
    ) {
        let mut schedule = Schedule::new(conditions, Chance::new(0, 0));
        let (mut held, mut taken) = (0, 0);
        for now_ns in times {
            let offered = schedule.offer(now_ns, facts(1514), ());
            let outcomes = [Some(offered.first), offered.copy];
            held += outcomes.into_iter().flatten().filter(|one| *one == Outcome::Held).count();
            taken += usize::from(schedule.take(now_ns).is_some());
        }
        prop_assert_eq!(held, taken + schedule.in_flight());
    }
}
