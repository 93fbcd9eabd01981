//! `culvert-probe agent`: requests on standard input, answers on standard output.

mod hello;
pub mod request;
pub mod work;

use crate::net::socket;
use crate::protocol::emitter::Emitter;
use crate::protocol::failure::{Failure, during};
use crate::protocol::requests::{self, Fields};
use crate::tasks::context::Context;
use crate::timing::stop::Stop;
use request::Request;
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use work::Work;

/// How long tasks may take to end when the input has ended.
const FAREWELL: Duration = Duration::from_secs(2);

type Running = Arc<Mutex<HashMap<u64, Arc<Stop>>>>;

/// Serves until the input ends; then every task is stopped.
pub fn serve(input: impl Read, output: impl Write + Send + 'static) -> io::Result<()> {
    // Before any task; a kernel without time stamps is each task's to report.
    let _stamping = socket::keep_stamping();
    let (emitter, writer) = Emitter::start(output);
    let agent = Agent {
        emitter: emitter.clone(),
        running: Running::default(),
    };
    let input = io::BufReader::new(input);
    let served = requests::read_all(input, &emitter, |id, fields| agent.answer(id, fields));
    agent.farewell();
    drop((agent, emitter));
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
}

impl Agent {
    fn answer(&self, id: u64, fields: Fields) {
        let outcome = request::parse(fields).and_then(|request| match request {
            Request::Hello => {
                self.emitter.done(id, hello::hello());
                Ok(())
            }
            Request::Begin { at_ns } => {
                if let Some(stop) = lock(&self.running).get(&id) {
                    stop.begin(at_ns);
                }
                Ok(())
            }
            Request::Stop { packets } => {
                self.stop(id, packets);
                Ok(())
            }
            Request::Start(work) => self.start(id, work),
        });
        if let Err(failure) = outcome {
            self.emitter.error(Some(id), &failure);
        }
    }

    /// A task that has ended by itself has reported it; stopping it again is no error.
    fn stop(&self, id: u64, packets: Option<u64>) {
        if let Some(stop) = lock(&self.running).get(&id) {
            if let Some(packets) = packets {
                stop.expect(packets);
            }
            stop.request();
        }
    }

    fn start(&self, id: u64, work: Work) -> Result<(), Failure> {
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
                let outcome = work(&context);
                // First free the id (the sockets are closed), then report: the reader may go on.
                lock(&running).remove(&id);
                match outcome {
                    Ok(result) => emitter.done(id, result),
                    Err(failure) => emitter.error(Some(id), &failure),
                }
            });
        match spawned {
            Ok(_) => Ok(()),
            Err(error) => {
                lock(&self.running).remove(&id);
                Err(Failure::io("start a task", &error))
            }
        }
    }

    fn farewell(&self) {
        for stop in lock(&self.running).values() {
            stop.request();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
