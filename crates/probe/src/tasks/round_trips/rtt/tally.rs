//! What came of echo requests: their times, and what went missing. Pure.

use crate::net::echo_channel::EchoChannel;
use crate::packet::header::{HEADER_LENGTH, Header};
use crate::results::latency::Latency;
use crate::results::sequence::{Arrival, Sequence};
use crate::timing::timetable::Timetable;

/// What answers are compared with.
pub struct Expected {
    pub tag: [u8; 8],
    pub count: u64,
    pub timeout_ns: u64,
    /// A request, whose part behind the header comes back as it was.
    pub payload: Vec<u8>,
}

/// Answers so far.
#[derive(Default)]
pub struct Tally {
    pub received: u64,
    pub late: u64,
    pub strangers: u64,
    pub corrupt: u64,
    pub sequence: Sequence,
    /// From when a request was due.
    pub due: Latency,
    /// From when it was sent.
    pub actual: Latency,
}

impl Tally {
    /// Answers that arrived after their deadline.
    pub fn answered(&self) -> u64 {
        self.received + self.late
    }

    /// A packet that came to the channel's socket.
    pub fn take(
        &mut self,
        channel: &EchoChannel,
        expected: &Expected,
        schedule: &Timetable,
        packet: &[u8],
        arrived_ns: u64,
    ) {
        let answer = channel.answer(packet);
        let header = answer.and_then(|answer| Header::read(answer, expected.tag));
        let (Some(answer), Some(header)) = (answer, header) else {
            self.strangers += 1;
            return;
        };
        let ours = header.kind == channel.reply_kind() && header.flow == 0;
        if !ours || header.sequence >= expected.count {
            self.strangers += 1;
            return;
        }
        let intact = answer.get(HEADER_LENGTH..) == expected.payload.get(HEADER_LENGTH..);
        self.corrupt += u64::from(!intact);
        let due_ns = schedule.time_ns(header.sequence);
        self.count(&header, due_ns, arrived_ns, expected.timeout_ns);
    }

    fn count(&mut self, header: &Header, due_ns: u64, arrived_ns: u64, timeout_ns: u64) {
        if matches!(
            self.sequence.record(header.sequence),
            Arrival::Duplicate | Arrival::TooOld
        ) {
            return;
        }
        let from_due_ns = arrived_ns.saturating_sub(due_ns);
        if from_due_ns > timeout_ns {
            self.late += 1;
            return;
        }
        self.received += 1;
        self.due.record(from_due_ns);
        self.actual
            .record(arrived_ns.saturating_sub(header.time_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::header::Kind;

    fn header(sequence: u64, time_ns: u64) -> Header {
        Header {
            kind: Kind::Reply,
            tag: [0; 8],
            flow: 0,
            sequence,
            time_ns,
        }
    }

    #[test]
    fn times_count_from_when_a_request_was_due() {
        let mut tally = Tally::default();
        tally.count(&header(0, 150), 100, 300, 1000);
        assert_eq!(tally.due.quantile_ns(0.5), 200);
        assert_eq!(tally.actual.quantile_ns(0.5), 150);
    }

    #[test]
    fn late_answers_and_duplicates_have_no_time() {
        let mut tally = Tally::default();
        tally.count(&header(0, 100), 100, 300, 1000);
        tally.count(&header(0, 100), 100, 400, 1000);
        tally.count(&header(1, 100), 100, 1101, 1000);
        assert_eq!((tally.received, tally.late), (1, 1));
        assert_eq!((tally.answered(), tally.sequence.duplicates), (2, 1));
        assert_eq!(tally.due.count(), 1);
    }
}
