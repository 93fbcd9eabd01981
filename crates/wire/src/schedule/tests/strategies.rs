//! Any conditions and any traffic, for properties.

use std::num::NonZeroU64;

use proptest::prelude::*;

use super::Offered;
use crate::schedule::chance::Probability;
use crate::schedule::codel::Codel;
use crate::schedule::jitter::Jitter;
use crate::schedule::loss::{GilbertElliott, Loss};
use crate::schedule::{Blackout, Capacity, Conditions, Filter, QueueLimit, trace};

pub(super) fn traffic() -> impl Strategy<Value = Vec<Offered>> {
    let gap = prop_oneof![Just(0), 0..20_000u64, 0..20_000_000u64];
    let bytes = prop_oneof![Just(64u64), Just(1514), 1..9000u64];
    prop::collection::vec((gap, bytes), 1..120)
}

pub(super) fn queue() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        (1..50u64).prop_map(QueueLimit::Packets),
        (1..50_000u64).prop_map(QueueLimit::Bytes),
    ]
}

pub(super) fn share() -> impl Strategy<Value = Probability> {
    prop_oneof![Just(0.0), Just(0.0), Just(1.0), 0.0..1.0f64]
        .prop_map(|value| Probability::new(value).expect("a probability"))
}

pub(super) fn capacity() -> impl Strategy<Value = Capacity> {
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

pub(super) fn rate(rate_bps: u64) -> Capacity {
    Capacity::Rate(NonZeroU64::new(rate_bps).expect("not zero"))
}

pub(super) fn loss() -> impl Strategy<Value = Loss> {
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

pub(super) fn jitter() -> impl Strategy<Value = Option<Jitter>> {
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

pub(super) fn codel() -> impl Strategy<Value = Option<Codel>> {
    prop::option::of(
        (1..10_000_000u64, 1..50_000_000u64).prop_map(|(target_ns, interval_ns)| Codel {
            target_ns,
            interval_ns,
        }),
    )
}

/// All that a link can do, at once.
pub(super) fn anything() -> impl Strategy<Value = Conditions> {
    let harm = (share(), share(), share(), any::<bool>());
    let blackout = prop::option::of((0..50_000_000u64, 1..50_000_000u64));
    let filter = (any::<bool>(), any::<bool>(), prop::option::of(1..9000u32));
    let queue = (codel(), prop::option::of(1..50u64));
    (
        plain(),
        capacity(),
        queue,
        jitter(),
        loss(),
        harm,
        blackout,
        filter,
    )
        .prop_map(
            |(
                plain,
                capacity,
                (codel, limit_packets),
                jitter,
                loss,
                harm,
                blackout,
                (udp, fragments, size_and_above),
            )| {
                Conditions {
                    capacity,
                    codel,
                    limit_packets,
                    jitter,
                    loss,
                    reorder: harm.0,
                    duplicate: harm.1,
                    corrupt: harm.2,
                    keep_order: harm.3,
                    blackout: blackout.map(|(after_ns, for_ns)| Blackout { after_ns, for_ns }),
                    filter: Filter {
                        udp,
                        fragments,
                        size_and_above,
                    },
                    ..plain
                }
            },
        )
}

/// Rate, queue, fixed delay and independent loss: what order and exact times are promised for.
pub(super) fn conditions() -> impl Strategy<Value = Conditions> {
    (plain(), capacity(), share()).prop_map(|(plain, capacity, loss)| Conditions {
        capacity,
        loss: Loss::Independent(loss),
        ..plain
    })
}

pub(super) fn plain() -> impl Strategy<Value = Conditions> {
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
