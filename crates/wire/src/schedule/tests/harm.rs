//! Packets that do not arrive because of a requested impairment.

use proptest::prelude::*;

use super::strategies::{anything, plain, traffic};
use super::{Passage, facts, pass};
use crate::schedule::{
    Blackout, Capacity, Chance, Conditions, Drop, Facts, Filter, Outcome, Schedule,
};

proptest! {
    #[test]
    fn decisions_depend_on_seed_and_number_alone(
        conditions in anything(), other in plain(), seed: u64,
        offered in traffic(), others in traffic(),
    ) {
        // without a queue, which looks at what else is there
        let here = Conditions {
            capacity: Capacity::Unlimited,
            blackout: None,
            filter: Filter::default(),
            in_flight_limit_bytes: u64::MAX,
            ..conditions
        };
        let there = Conditions { delay_ns: other.delay_ns, ..here.clone() };
        let (here, there) = (pass(here, seed, &offered), pass(there, seed, &others));
        let common = offered.len().min(others.len()) as u64;
        let lost = |passage: &Passage| {
            let mut lost = passage.because(Drop::Lost);
            lost.retain(|number| *number < common);
            lost
        };
        prop_assert_eq!(lost(&here), lost(&there));
    }

    #[test]
    fn a_filter_of_fragments_drops_all_of_them_and_nothing_else(
        conditions in plain(), seed: u64, offered in traffic(),
    ) {
        let filter = Filter { fragments: true, ..Filter::default() };
        let dropped = pass(Conditions { filter, ..conditions }, seed, &offered)
            .because(Drop::Filtered);
        let fragments: Vec<u64> = (0u64..)
            .zip(&offered)
            .filter(|(_, (_, bytes))| facts(*bytes).fragment)
            .map(|(number, _)| number)
            .collect();
        prop_assert_eq!(dropped, fragments);
    }
}

#[test]
fn a_blackout_begins_and_ends() {
    let conditions = Conditions {
        blackout: Some(Blackout {
            after_ns: 3,
            for_ns: 4,
        }),
        ..Conditions::default()
    };
    let passage = pass(conditions, 0, &[(1, 60); 10]);
    assert_eq!(passage.because(Drop::Blackout), [2, 3, 4, 5]);
}

#[test]
fn a_filter_sees_the_packet_and_not_the_frame() {
    let filter = Filter {
        size_and_above: Some(1400),
        ..Filter::default()
    };
    let conditions = Conditions {
        filter,
        ..Conditions::default()
    };
    let mut schedule = Schedule::new(conditions, Chance::new(0, 0));
    let mut offer = |packet_bytes| {
        let facts = Facts {
            bytes: packet_bytes + 14,
            packet_bytes,
            udp: false,
            fragment: false,
        };
        schedule.offer(0, facts, ()).first
    };
    assert_eq!(offer(1399), Outcome::Departs(None));
    assert_eq!(offer(1400), Outcome::Dropped(Drop::Filtered));
}
