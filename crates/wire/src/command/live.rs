//! Statistics for a terminal: packets delivered and dropped since the last output.

use crate::cable::Statistics;
use crate::direction::counters::Counts;

/// Two lines about the time between two outputs, `seconds` apart.
pub fn lines(before: &Statistics, now: &Statistics, seconds: f64) -> String {
    let a_to_b = line("a -> b", &before.a_to_b, &now.a_to_b, seconds);
    let b_to_a = line("b -> a", &before.b_to_a, &now.b_to_a, seconds);
    format!("{a_to_b}\n{b_to_a}\n")
}

fn line(name: &str, before: &Counts, now: &Counts, seconds: f64) -> String {
    let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds.max(1e-9);
    let bits = rate(now.delivered_bytes, before.delivered_bytes) * 8.0;
    let packets = rate(now.delivered_packets, before.delivered_packets);
    let mut text = format!(
        "{name}  {:>12}  {:>12}  in flight {:>7}",
        scaled(bits, "bit/s"),
        scaled(packets, "packet/s"),
        now.in_flight_packets
    );
    let drops = [
        ("lost", now.lost_packets),
        ("queue full", now.queue_full_packets),
        ("codel", now.codel_packets),
        ("blackout", now.blackout_packets),
        ("filtered", now.filtered_packets),
        ("corrupted", now.corrupted_packets),
        ("duplicated", now.duplicated_packets),
        ("overtaken", now.overtaken_packets),
        ("refused", now.refused_packets),
        ("too long", now.too_long_packets),
        ("late", now.late_packets),
        ("OVERRUN", now.overrun_packets),
        ("RING FULL", now.ring_full_packets),
        ("MALFORMED", now.malformed_packets),
    ];
    for (what, packets) in drops {
        if packets > 0 {
            let share = packets as f64 / now.received_packets.max(1) as f64 * 100.0;
            text.push_str(&format!("  {what} {packets} ({share:.3} %)"));
        }
    }
    text
}

fn scaled(value: f64, unit: &str) -> String {
    let (size, prefix) = match value {
        value if value >= 1e9 => (1e9, "G"),
        value if value >= 1e6 => (1e6, "M"),
        value if value >= 1e3 => (1e3, "k"),
        _ => (1.0, ""),
    };
    format!("{:.1} {prefix}{unit}", value / size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said() {
        let before = Statistics {
            a_to_b: Counts::default(),
            b_to_a: Counts::default(),
        };
        let now = Statistics {
            a_to_b: Counts {
                received_packets: 200,
                delivered_packets: 198,
                delivered_bytes: 250_000,
                lost_packets: 2,
                ..Counts::default()
            },
            ..before
        };
        let text = lines(&before, &now, 2.0);
        let (first, second) = text.split_once('\n').expect("two lines");
        assert!(
            first.contains("1.0 Mbit/s") && first.contains("99.0 packet/s"),
            "{first}"
        );
        assert!(first.contains("lost 2 (1.000 %)"), "{first}");
        assert!(
            second.contains("0.0 bit/s") && !second.contains("lost"),
            "{second}"
        );
    }
}
