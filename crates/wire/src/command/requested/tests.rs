//! Valid requests, and the text of a refusal.

use super::*;
use proptest::prelude::*;

fn requested(text: &str) -> Result<Conditions, String> {
    let requested: Requested = serde_json::from_str(text).map_err(|error| error.to_string())?;
    requested
        .conditions()
        .map_err(|failure| failure.to_string())
}

#[test]
fn nothing_asked_is_a_plain_cable() {
    assert!(requested("{}").expect("conditions").is_plain_cable());
}

#[test]
fn everything_at_once() {
    let conditions = requested(
        r#"{"rate_bps": 1000000, "queue": {"bytes": 30000}, "codel": {}, "delay_ns": 1000000,
            "jitter": {"distribution": "normal", "spread_ns": 5}, "jitter_reorders": true,
            "loss": {"gilbert_elliott": {"to_bad": 0.1, "to_good": 0.5}}, "reorder": 0.1,
            "duplicate": 0.2, "corrupt": 0.3, "blackout": {"for_ns": 5}, "drop_udp": true, "drop_fragments": true,
            "drop_size_and_above": 1400, "per_super_packet": true, "overhead_bytes": 24,
            "limit_packets": 1000}"#,
    )
    .expect("conditions");
    assert_eq!(conditions.queue, QueueLimit::Bytes(30_000));
    assert_eq!(conditions.limit_packets, Some(1000));
    assert_eq!(conditions.codel, Some(Codel::default()));
    assert_eq!(conditions.jitter, Some(Jitter::Normal { spread_ns: 5 }));
    assert!(!conditions.keep_order);
    assert_eq!(
        conditions.blackout,
        Some(Blackout {
            after_ns: 0,
            for_ns: 5
        })
    );
    assert!(conditions.filter.fragments);
    assert_eq!(conditions.filter.size_and_above, Some(1400));
    assert_eq!(conditions.unit, Unit::SuperPacket);
    let Loss::GilbertElliott(model) = conditions.loss else {
        panic!("{conditions:?}")
    };
    assert_eq!(model.loss_in_bad.value(), 1.0);
}

#[test]
fn listed_numbers_are_sorted_and_single() {
    let conditions = requested(r#"{"loss": {"packets": [5, 1, 5]}}"#).expect("conditions");
    assert_eq!(conditions.loss, Loss::Listed([1, 5].as_slice().into()));
}

#[test]
fn what_is_refused_names_the_thing() {
    for (text, words) in [
        (r#"{"rate_bps": 0}"#, "rate_bps: 0 is not from"),
        (r#"{"rate_bps": 10000000000000}"#, "rate_bps"),
        (
            r#"{"delay_ns": 60000000001}"#,
            "delay_ns: 60000000001 is not from",
        ),
        (
            r#"{"loss": {"probability": 1.5}}"#,
            "loss: 1.5 is no probability",
        ),
        (
            r#"{"loss": {"gilbert_elliott": {"to_bad": -1, "to_good": 0}}}"#,
            "loss.to_bad",
        ),
        (r#"{"corrupt": -0.1}"#, "corrupt"),
        (r#"{"reorder": 0.1}"#, "no delay that a packet could skip"),
        (r#"{"codel": {}}"#, "has no queue"),
        (r#"{"blackout": {"for_ns": 0}}"#, "blackout.for_ns"),
        (r#"{"queue": {"packets": 0}}"#, "queue.packets"),
        (r#"{"trace": "/none/x"}"#, "trace /none/x: No such file"),
        (
            r#"{"rate_bps": 5000, "trace": "/x"}"#,
            "there is a trace as well",
        ),
        (
            r#"{"jitter": {"distribution": "empirical", "file": "/none/x"}}"#,
            "delays /none/x",
        ),
        (
            r#"{"jitter": {"distribution": "weibull", "spread_ns": 1}}"#,
            "unknown variant",
        ),
        (r#"{"los": 1}"#, "unknown field"),
        ("5", "invalid"),
    ] {
        let why = requested(text).map(|_| ()).expect_err(text);
        assert!(why.contains(words), "{text}: {why}");
    }
}

#[test]
fn delays_of_a_file() {
    assert_eq!(
        *delays("# ping\n0.5\n\n12\n").expect("delays"),
        [500_000, 12_000_000]
    );
    for (text, words) in [
        ("", "no delay"),
        ("1\nx\n", "line 2"),
        ("-1", "line 1"),
        ("nan", "line 1"),
    ] {
        assert!(delays(text).expect_err(text).contains(words), "{text}");
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = requested(&text);
        let _ = delays(&text);
    }
}
