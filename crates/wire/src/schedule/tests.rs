//! What is promised about schedules, whatever the conditions and the traffic.

use std::num::NonZeroU64;

use proptest::prelude::*;

use super::codel::Codel;
use super::jitter::Jitter;
use super::loss::{GilbertElliott, Loss};
use super::trace::OPPORTUNITY_BYTES;
use super::{
    Blackout, Capacity, Chance, Conditions, Drop, Facts, Fate, Filter, Outcome, QueueLimit,
    Schedule, trace,
};
use crate::chance::Probability;

const NS_PER_S: u64 = 1_000_000_000;

/// A packet of a test: the gap before it, and its size.
type Offered = (u64, u64);

#[derive(Debug, Clone, Copy, PartialEq)]
struct Departure {
    number: u64,
    arrival_ns: u64,
    departure_ns: u64,
    bytes: u64,
}

#[derive(Debug, Default)]
struct Passage {
    departures: Vec<Departure>,
    /// Numbers of packets by why they were dropped.
    dropped: Vec<(Drop, u64)>,
    copies: u64,
    greatest_backlog: (u64, u64),
}

impl Passage {
    fn because(&self, reason: Drop) -> Vec<u64> {
        let mut numbers: Vec<u64> = self
            .dropped
            .iter()
            .filter(|(why, _)| *why == reason)
            .map(|(_, number)| *number)
            .collect();
        numbers.sort_unstable();
        numbers
    }

    fn settle(&mut self, outcome: Outcome, packet: Departure) {
        match outcome {
            Outcome::Departs(_) => self.departures.push(packet),
            Outcome::Held => {}
            Outcome::Dropped(reason) => self.dropped.push((reason, packet.number)),
        }
    }

    fn take(&mut self, schedule: &mut Schedule<Departure>, now_ns: u64) {
        while let Some((fate, mut packet)) = schedule.take(now_ns) {
            match fate {
                Fate::Departs { due_ns, .. } => {
                    packet.departure_ns = due_ns;
                    self.departures.push(packet);
                }
                Fate::Dropped(reason) => self.dropped.push((reason, packet.number)),
            }
        }
    }
}

fn facts(bytes: u64) -> Facts {
    Facts {
        bytes: bytes as u32,
        packet_bytes: bytes as u32,
        udp: bytes.is_multiple_of(2),
    }
}

/// When the schedule is asked for what is due.
#[derive(Clone, Copy, PartialEq)]
enum Polls {
    /// At each event, as the cable does.
    OnTime,
    /// Only when a packet comes.
    Late,
}

fn pass(conditions: Conditions, seed: u64, offered: &[Offered]) -> Passage {
    pass_polling(conditions, seed, offered, Polls::OnTime)
}

fn pass_polling(conditions: Conditions, seed: u64, offered: &[Offered], polls: Polls) -> Passage {
    let mut schedule = Schedule::new(conditions, Chance::new(seed, 0));
    let mut passage = Passage::default();
    let mut now_ns = 0;
    for (number, (gap_ns, bytes)) in offered.iter().enumerate() {
        now_ns += gap_ns;
        while polls == Polls::OnTime
            && let Some(due_ns) = schedule.next_event_ns().filter(|due| *due <= now_ns)
        {
            let before = (schedule.in_flight(), schedule.next_event_ns());
            passage.take(&mut schedule, due_ns);
            assert_ne!(
                before,
                (schedule.in_flight(), schedule.next_event_ns()),
                "it goes on"
            );
        }
        passage.take(&mut schedule, now_ns);
        let packet = Departure {
            number: number as u64,
            arrival_ns: now_ns,
            departure_ns: now_ns,
            bytes: *bytes,
        };
        let outcome = schedule.offer(now_ns, facts(*bytes), packet);
        passage.settle(outcome.first, packet);
        if let Some(copy) = outcome.copy {
            passage.copies += 1;
            passage.settle(copy, packet);
        }
        let busy = schedule.serialiser.free_ns() > now_ns;
        let serialising = if busy {
            u64::from(schedule.serialising_bytes)
        } else {
            0
        };
        let backlog = (
            schedule.waiting() as u64 + u64::from(busy),
            schedule.queue_bytes + serialising,
        );
        passage.greatest_backlog.0 = passage.greatest_backlog.0.max(backlog.0);
        passage.greatest_backlog.1 = passage.greatest_backlog.1.max(backlog.1);
    }
    while let Some(due_ns) = schedule.next_event_ns() {
        passage.take(&mut schedule, due_ns);
    }
    assert_eq!(
        (
            schedule.in_flight(),
            schedule.lanes.bytes(),
            schedule.queue_bytes
        ),
        (0, 0, 0)
    );
    passage
}

fn traffic() -> impl Strategy<Value = Vec<Offered>> {
    let gap = prop_oneof![Just(0), 0..20_000u64, 0..20_000_000u64];
    let bytes = prop_oneof![Just(64u64), Just(1514), 1..9000u64];
    prop::collection::vec((gap, bytes), 1..120)
}

fn queue() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        (1..50u64).prop_map(QueueLimit::Packets),
        (1..50_000u64).prop_map(QueueLimit::Bytes),
    ]
}

fn share() -> impl Strategy<Value = Probability> {
    prop_oneof![Just(0.0), Just(0.0), Just(1.0), 0.0..1.0f64]
        .prop_map(|value| Probability::new(value).expect("a probability"))
}

fn capacity() -> impl Strategy<Value = Capacity> {
    let moments = prop::collection::vec(0u64..20, 1..20);
    prop_oneof![
        Just(Capacity::Unlimited),
        (1_000u64..20_000_000_000).prop_map(rate),
        moments.prop_map(|mut moments| {
            moments.sort_unstable();
            moments.push(20);
            let text: String = moments.iter().map(|moment| format!("{moment}\n")).collect();
            Capacity::Trace(trace::Trace::parse(&text).expect("a trace").into())
        }),
    ]
}

fn rate(rate_bps: u64) -> Capacity {
    Capacity::Rate(NonZeroU64::new(rate_bps).expect("not zero"))
}

fn loss() -> impl Strategy<Value = Loss> {
    prop_oneof![
        Just(Loss::Never),
        share().prop_map(Loss::Independent),
        prop::collection::btree_set(0u64..120, 0..20)
            .prop_map(|numbers| Loss::Listed(numbers.into_iter().collect())),
        (share(), share(), share(), share()).prop_map(
            |(to_bad, to_good, loss_in_good, loss_in_bad)| Loss::GilbertElliott(GilbertElliott {
                to_bad,
                to_good,
                loss_in_good,
                loss_in_bad
            })
        ),
    ]
}

fn jitter() -> impl Strategy<Value = Option<Jitter>> {
    let spread = 0..10_000_000u64;
    prop_oneof![
        Just(None),
        spread
            .clone()
            .prop_map(|spread_ns| Some(Jitter::Uniform { spread_ns })),
        spread
            .clone()
            .prop_map(|spread_ns| Some(Jitter::Normal { spread_ns })),
        spread
            .clone()
            .prop_map(|spread_ns| Some(Jitter::Pareto { spread_ns })),
        prop::collection::vec(spread, 1..10).prop_map(|all| Some(Jitter::Empirical(all.into()))),
    ]
}

fn codel() -> impl Strategy<Value = Option<Codel>> {
    prop::option::of(
        (1..10_000_000u64, 1..50_000_000u64).prop_map(|(target_ns, interval_ns)| Codel {
            target_ns,
            interval_ns,
        }),
    )
}

/// All that a link can do, at once.
fn anything() -> impl Strategy<Value = Conditions> {
    let harm = (share(), share(), share(), any::<bool>());
    let blackout = prop::option::of((0..50_000_000u64, 1..50_000_000u64));
    let filter = (any::<bool>(), prop::option::of(1..9000u32));
    (
        plain(),
        capacity(),
        codel(),
        jitter(),
        loss(),
        harm,
        blackout,
        filter,
    )
        .prop_map(
            |(plain, capacity, codel, jitter, loss, harm, blackout, (udp, size_and_above))| {
                Conditions {
                    capacity,
                    codel,
                    jitter,
                    loss,
                    reorder: harm.0,
                    duplicate: harm.1,
                    corrupt: harm.2,
                    keep_order: harm.3,
                    blackout: blackout.map(|(after_ns, for_ns)| Blackout { after_ns, for_ns }),
                    filter: Filter {
                        udp,
                        size_and_above,
                    },
                    ..plain
                }
            },
        )
}

/// Rate, queue, fixed delay and independent loss: what order and exact times are promised for.
fn conditions() -> impl Strategy<Value = Conditions> {
    (plain(), capacity(), share()).prop_map(|(plain, capacity, loss)| Conditions {
        capacity,
        loss: Loss::Independent(loss),
        ..plain
    })
}

fn plain() -> impl Strategy<Value = Conditions> {
    (
        0..30u32,
        queue(),
        prop_oneof![Just(0u64), 0..400_000_000u64],
        prop_oneof![Just(u64::MAX), 1..100_000u64],
    )
        .prop_map(
            |(overhead_bytes, queue, delay_ns, in_flight_limit_bytes)| Conditions {
                overhead_bytes,
                queue,
                delay_ns,
                in_flight_limit_bytes,
                ..Conditions::default()
            },
        )
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
        // memory is the one thing that is freed only when somebody calls
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

    #[test]
    fn no_packet_departs_before_it_came(
        conditions in anything(), seed: u64, offered in traffic(),
    ) {
        let departures = pass(conditions, seed, &offered).departures;
        prop_assert!(departures.iter().all(|packet| packet.departure_ns >= packet.arrival_ns));
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
    fn order_is_kept(conditions in conditions(), seed: u64, offered in traffic()) {
        let departures = pass(conditions, seed, &offered).departures;
        prop_assert!(departures.windows(2).all(|pair| pair[0].number < pair[1].number
            && pair[0].departure_ns <= pair[1].departure_ns));
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

#[test]
fn a_filter_sees_the_packet_and_not_the_frame() {
    let filter = Filter {
        udp: false,
        size_and_above: Some(1400),
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
        };
        schedule.offer(0, facts, ()).first
    };
    assert_eq!(offer(1399), Outcome::Departs(None));
    assert_eq!(offer(1400), Outcome::Dropped(Drop::Filtered));
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
