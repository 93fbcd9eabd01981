//! Requests over one connection, as of a program that keeps it open: those that the connection has
//! no room for wait, and it is opened anew only if it breaks.

use super::attempt::Attempt;
use super::next_turn;
use super::tally::{Fate, Tally};
use crate::timing::schedule::Schedule;
use socket2::Socket;
use std::io::{self, ErrorKind, Read, Write};

/// Requests that wait for the connection; further ones are left out.
const MOST_PENDING: usize = 1 << 16;
const READ: usize = 1 << 16;

pub fn run(attempt: &Attempt<'_>, schedule: &Schedule, tally: &Tally, until_ns: u64) {
    let mut number = 0;
    let mut connection: Option<Connection> = None;
    while next_turn(attempt, schedule, tally, &mut number, until_ns).is_some() {
        tally.begin();
        let fate = match connection.take() {
            Some(open) => Ok(open),
            None => Connection::open(attempt),
        }
        .and_then(|mut open| {
            let answered = open.exchange(attempt, number)?;
            connection = Some(open);
            Ok(answered)
        });
        tally.end(match fate {
            Ok(true) => Fate::Answered,
            Ok(false) => Fate::Unanswered,
            Err(error) => Fate::of_error(&error),
        });
    }
}

struct Connection {
    socket: Socket,
    pending: Vec<u8>,
}

impl Connection {
    fn open(attempt: &Attempt<'_>) -> io::Result<Connection> {
        let socket = attempt.connect(false)?;
        socket.set_nonblocking(true)?;
        Ok(Connection {
            socket,
            pending: Vec::new(),
        })
    }

    /// Sends one more request; whether answers have come since the last.
    fn exchange(&mut self, attempt: &Attempt<'_>, number: u64) -> io::Result<bool> {
        if self.pending.len() < MOST_PENDING {
            let mut message = attempt.payload.clone();
            attempt.header(number).write(&mut message);
            self.pending.extend(message);
        }
        match { &self.socket }.write(&self.pending) {
            Ok(written) => {
                self.pending.drain(..written);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        let mut answers = [0; READ];
        match { &self.socket }.read(&mut answers) {
            Ok(0) => Err(io::Error::from(ErrorKind::ConnectionReset)),
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }
}
