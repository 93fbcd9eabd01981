//! Results as lines for people: a name, then a figure with its unit.

use serde_json::Value;
use std::fmt::Write;

/// What is not for people: series, details that have their own lines, clocks.
const LEFT_OUT: [&str; 12] = [
    "intervals",
    "streams",
    "flows",
    "histogram",
    "histogram_actual",
    "tcp_info",
    "final_tcp_info",
    "first_ns",
    "last_ns",
    "started_ns",
    "t_ns",
    "lengths",
];

/// What people look for, in that order; the rest follows by name.
const FIRST: [&str; 28] = [
    "transactions",
    "per_second",
    "offered",
    "scheduled",
    "sent",
    "overdue",
    "packets",
    "bytes",
    "received",
    "lost",
    "late",
    "duplicates",
    "reordered",
    "corrupt",
    "strangers",
    "seconds",
    "count",
    "min_ns",
    "p50_ns",
    "p90_ns",
    "p99_ns",
    "p99_9_ns",
    "p99_99_ns",
    "max_ns",
    "mean_ns",
    "p50_actual_ns",
    "p99_actual_ns",
    "mean_actual_ns",
];

/// One line of an interval.
pub fn interval(event: &Value) -> String {
    let fields = event.as_object().into_iter().flatten();
    let shown = fields.filter(|(name, _)| !["id", "event", "t_ns"].contains(&name.as_str()));
    let words: Vec<String> = shown
        .filter_map(|(name, value)| Some(format!("{} {}", label(name), figure(name, value)?)))
        .collect();
    words.join("  ")
}

/// All of a result that is a figure or a word, with what lies deeper indented below it.
pub fn of(result: &Value) -> String {
    let mut text = String::new();
    if let (Some(bytes), Some(seconds)) = (goodput_bytes(result), goodput_seconds(result)) {
        let mbits = bytes * 8.0 / seconds / 1e6;
        let _ = writeln!(text, "{:<28} {mbits:.3} Mbit/s", "goodput (payload)");
    }
    add(&mut text, result, 0);
    text
}

fn goodput_bytes(result: &Value) -> Option<f64> {
    let of_tcp_source = result["bytes_acked"].as_f64();
    of_tcp_source.or_else(|| result["bytes"].as_f64())
}

/// Between the first and the last, as this end saw them.
fn goodput_seconds(result: &Value) -> Option<f64> {
    let (first, last) = (result["first_ns"].as_u64()?, result["last_ns"].as_u64()?);
    let ns = last.checked_sub(first).filter(|ns| *ns > 0)?;
    Some(ns as f64 / 1e9)
}

fn add(text: &mut String, value: &Value, depth: usize) {
    let mut fields: Vec<_> = value.as_object().into_iter().flatten().collect();
    fields.sort_by_key(|(name, _)| place(name));
    for (name, value) in fields {
        if LEFT_OUT.contains(&name.as_str()) {
            continue;
        }
        let indent = " ".repeat(2 * depth);
        if let Some(figure) = figure(name, value) {
            let label = format!("{indent}{}", label(name));
            let _ = writeln!(text, "{label:<28} {figure}");
        } else if value.as_object().is_some_and(|fields| !fields.is_empty()) {
            let _ = writeln!(text, "{indent}{}", label(name));
            add(text, value, depth + 1);
        }
    }
}

/// The place of a figure: counts first, then times in ascending order.
fn place(name: &str) -> usize {
    let known = FIRST.iter().position(|first| *first == name);
    known.unwrap_or(FIRST.len())
}

/// The name without its unit.
fn label(name: &str) -> String {
    let name = name.replace("p99_9", "p99.9");
    let bare = ["_ns", "_us", "_bps"]
        .iter()
        .find_map(|unit| name.strip_suffix(unit));
    bare.unwrap_or(&name).replace('_', " ")
}

fn figure(name: &str, value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => {
            let number = number.as_f64()?;
            Some(if name.ends_with("_ns") {
                format!("{:.1} us", number / 1e3)
            } else if name.ends_with("_us") {
                format!("{number} us")
            } else if number.fract() == 0.0 {
                format!("{number}")
            } else {
                format!("{number:.3}")
            })
        }
        Value::String(word) => Some(word.clone()),
        Value::Bool(yes) => Some(if *yes { "yes" } else { "no" }.to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn figures_have_units_and_series_stay_out() {
        let text = of(&json!({
            "bytes": 1_000_000, "first_ns": 0, "last_ns": 1_000_000_000_u64, "p50_ns": 1500,
            "intervals": [1], "pdv": {"max_ns": 2500}, "clock": "shared", "send_errors": {},
        }));
        for line in [
            "8.000 Mbit/s",
            "p50 ",
            "1.5 us",
            "  max ",
            "2.5 us",
            "shared",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        assert!(
            !text.contains("intervals") && !text.contains("send errors"),
            "{text}"
        );
    }

    #[test]
    fn times_rise_from_line_to_line() {
        let text = of(&json!({
            "p99_ns": 3, "p99_9_ns": 4, "max_ns": 5, "min_ns": 1, "p50_ns": 2, "sent": 9, "a": 0,
        }));
        let labels = text.lines().map(|line| line.split("  ").next().unwrap());
        let expected = ["sent", "min", "p50", "p99", "p99.9", "max", "a"];
        assert_eq!(labels.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn an_interval_is_one_line() {
        let line = interval(&json!({"id": 1, "event": "interval", "t_ns": 5, "packets": 7}));
        assert_eq!(line, "packets 7");
    }
}
