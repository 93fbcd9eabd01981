//! The output on a terminal, instead of JSON lines.

use std::time::{Duration, Instant};

use crate::cable::Statistics;
use crate::command::line::Line;
use crate::command::live;
use crate::command::options::CableArgs;
use crate::device::endpoint::Endpoint;

/// What a terminal shows.
pub struct Live {
    cable: String,
    last: Option<(Instant, Statistics)>,
}

impl Live {
    pub fn new(args: &CableArgs) -> Self {
        let end = |end: &Endpoint| format!("{}:{}", end.netns.display(), end.device.as_str());
        Self {
            cable: format!("{} - {}", end(&args.a), end(&args.b)),
            last: None,
        }
    }

    pub fn text(&mut self, line: &Line) -> String {
        match line {
            Line::Ready { .. } => format!("{}: ready; Ctrl-C ends it\n", self.cable),
            Line::Statistics { statistics, .. } => {
                let now = Instant::now();
                let before = self.last.replace((now, *statistics));
                let Some((then, before)) = before else {
                    let zero = Duration::from_secs(1);
                    return live::lines(statistics, statistics, zero.as_secs_f64());
                };
                // overwrites the two lines printed before
                let lines = live::lines(&before, statistics, (now - then).as_secs_f64());
                format!("\x1b[2F\x1b[J{lines}")
            }
            Line::Done { command, .. } => format!("{command}: done\n\n\n"),
            Line::Refused {
                what, why, remedy, ..
            } => format!("{what}: {why}; {remedy}\n\n\n"),
            Line::End {
                statistics: None, ..
            } => String::new(),
            Line::End {
                statistics: Some(statistics),
                elapsed_ns,
                ..
            } => {
                let seconds = *elapsed_ns as f64 / 1e9;
                let zero = Statistics {
                    a_to_b: Default::default(),
                    b_to_a: Default::default(),
                };
                format!(
                    "in {seconds:.1} s:\n{}",
                    live::lines(&zero, statistics, seconds)
                )
            }
        }
    }
}
