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

/// One line of an interval.
pub fn interval(event: &Value) -> String {
    let fields = event.as_object().into_iter().flatten();
    let told = fields.filter(|(name, _)| !["id", "event", "t_ns"].contains(&name.as_str()));
    let words: Vec<String> = told
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
    for (name, value) in value.as_object().into_iter().flatten() {
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

/// The name without its unit.
fn label(name: &str) -> String {
    let bare = ["_ns", "_us", "_bps"]
        .iter()
        .find_map(|unit| name.strip_suffix(unit));
    bare.unwrap_or(name).replace('_', " ")
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
    fn an_interval_is_one_line() {
        let line = interval(&json!({"id": 1, "event": "interval", "t_ns": 5, "packets": 7}));
        assert_eq!(line, "packets 7");
    }
}
