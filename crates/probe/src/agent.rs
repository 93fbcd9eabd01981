//! `culvert-probe agent`: requests on standard input, answers on standard output.

use crate::context::Context;
use crate::emitter::Emitter;
use crate::failure::{Failure, during};
use crate::lines::{Line, MAX_LINE, read_line};
use crate::protocol::{self, Request, Work};
use crate::stop::Stop;
use crate::tasks;
use std::collections::HashMap;
use std::io::{self, BufRead, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long tasks may take to end when the input has ended.
const FAREWELL: Duration = Duration::from_secs(2);

type Running = Arc<Mutex<HashMap<u64, Arc<Stop>>>>;

/// Serves until the input ends; then every task is stopped.
pub fn serve(input: impl Read, output: impl Write + Send + 'static) -> io::Result<()> {
    let (emitter, writer) = Emitter::start(output);
    let mut agent = Agent {
        emitter,
        running: Running::default(),
        threads: Vec::new(),
    };
    let served = agent.read_all(io::BufReader::new(input));
    agent.farewell();
    drop(agent);
    // The writer ends with the last task; one that hangs must not keep the process.
    let deadline = Instant::now() + FAREWELL;
    while !writer.is_finished() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    served
}

struct Agent {
    emitter: Emitter,
    running: Running,
    threads: Vec<JoinHandle<()>>,
}

impl Agent {
    fn read_all(&mut self, mut input: impl BufRead) -> io::Result<()> {
        let mut line = Vec::new();
        loop {
            match read_line(&mut input, &mut line)? {
                Line::End => return Ok(()),
                Line::TooLong => {
                    let why = format!("the line is longer than {MAX_LINE} bytes");
                    let failure = Failure::new("request", why, "send shorter requests");
                    self.emitter.error(None, &failure);
                }
                Line::Whole => self.answer(&line),
            }
        }
    }

    fn answer(&mut self, line: &[u8]) {
        let (id, outcome) = match protocol::parse(line) {
            Err(refusal) => (refusal.id, Err(refusal.failure)),
            Ok(Request::Hello { id }) => {
                self.emitter.done(id, tasks::hello::hello());
                (Some(id), Ok(()))
            }
            Ok(Request::Stop { id, packets }) => (Some(id), self.stop(id, packets)),
            Ok(Request::Start { id, work }) => (Some(id), self.start(id, *work)),
        };
        if let Err(failure) = outcome {
            self.emitter.error(id, &failure);
        }
    }

    /// A task that has ended by itself has reported it; stopping it again is no error.
    fn stop(&self, id: u64, packets: Option<u64>) -> Result<(), Failure> {
        if let Some(stop) = lock(&self.running).get(&id) {
            if let Some(packets) = packets {
                stop.expect(packets);
            }
            stop.request();
        }
        Ok(())
    }

    fn start(&mut self, id: u64, work: Work) -> Result<(), Failure> {
        let stop = Arc::new(Stop::new().map_err(during("start a task"))?);
        {
            let mut running = lock(&self.running);
            if running.contains_key(&id) {
                let why = format!("task {id} still runs");
                return Err(Failure::new("request", why, "give each request its own id"));
            }
            running.insert(id, Arc::clone(&stop));
        }
        let emitter = self.emitter.clone();
        let running = Arc::clone(&self.running);
        let spawned = std::thread::Builder::new()
            .name(format!("task-{id}"))
            .spawn(move || {
                let context = Context::new(id, emitter.clone(), Arc::clone(&stop));
                let outcome = tasks::run(work, &context);
                // First free the id (the sockets are closed), then report: the reader may go on.
                lock(&running).remove(&id);
                match outcome {
                    Ok(result) => emitter.done(id, result),
                    Err(failure) => emitter.error(Some(id), &failure),
                }
            });
        match spawned {
            Ok(thread) => {
                self.threads.retain(|thread| !thread.is_finished());
                self.threads.push(thread);
                Ok(())
            }
            Err(error) => {
                lock(&self.running).remove(&id);
                Err(Failure::io("start a task", &error))
            }
        }
    }

    fn farewell(&mut self) {
        for stop in lock(&self.running).values() {
            stop.request();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
