//! The agent's tasks by hand: one command each, with a readable summary.

mod command;
mod summary;

pub use command::Command;

use culvert_probe::agent::request::{self, Request};
use culvert_probe::protocol::emitter::Emitter;
use culvert_probe::protocol::failure::{Failure, during};
use culvert_probe::protocol::values::to_hex;
use culvert_probe::tasks::context::Context;
use culvert_probe::timing::stop::Stop;
use nix::sys::signal::{SigSet, Signal};
use serde_json::Value;
use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;

/// The session's token, 32 hexadecimal digits. Not an option: those can be seen by everybody.
const TOKEN: &str = "CULVERT_PROBE_TOKEN";

pub fn run(command: &Command) -> ExitCode {
    match measure(command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("culvert-probe: {failure}\n  {}", failure.remedy);
            ExitCode::FAILURE
        }
    }
}

fn measure(command: &Command) -> Result<(), Failure> {
    let (token, given) = match std::env::var(TOKEN) {
        Ok(token) => (token, true),
        Err(_) => (random_token()?, false),
    };
    if !given && command.needs_token() {
        return Err(Failure::new(
            TOKEN,
            "is not set, and the other end ignores whoever does not know its token",
            format!("run it as the other end printed: {TOKEN}=... culvert-probe ..."),
        ));
    }
    let Value::Object(fields) = command.request(&token)? else {
        unreachable!("a request is an object");
    };
    let Request::Start(task) = request::parse(fields)? else {
        unreachable!("commands start tasks");
    };
    let stop = Arc::new(Stop::new().map_err(during("start"))?);
    stop_at_interrupt(&stop)?;
    let json = command.json();
    let events = Events {
        json,
        listener: (!given).then(|| (token, command.counterpart())),
        line: Vec::new(),
    };
    let (emitter, writer) = Emitter::start(events);
    let result = task(&Context::new(1, emitter.clone(), stop));
    if let (true, Ok(result)) = (json, &result) {
        emitter.done(1, result);
    }
    drop(emitter);
    // The writer ends with the last clone of the emitter; a panic of it is a bug to be seen.
    writer.join().expect("events are written");
    if !json {
        print!("{}", summary::of(&result?));
    } else {
        result?;
    }
    Ok(())
}

fn random_token() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(during("make a token"))?;
    Ok(to_hex(&bytes))
}

/// Ctrl-C ends the measurement, and its results are printed.
fn stop_at_interrupt(stop: &Arc<Stop>) -> Result<(), Failure> {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGINT);
    signals.add(Signal::SIGTERM);
    signals.thread_block().map_err(during("block signals"))?;
    let stop = Arc::clone(stop);
    std::thread::spawn(move || {
        if signals.wait().is_ok() {
            stop.request();
        }
    });
    Ok(())
}

/// Events as lines for people, or as they are.
struct Events {
    json: bool,
    /// For a listener without a given token: the token, and the command for the other end.
    listener: Option<(String, Option<&'static str>)>,
    line: Vec<u8>,
}

impl Write for Events {
    /// The emitter writes one line at a time.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        let event: Value = serde_json::from_slice(&line).unwrap_or_default();
        if let (Some((token, Some(other))), Some(port)) = (&self.listener, event["port"].as_u64()) {
            eprintln!(
                "on the other end: {TOKEN}={token} culvert-probe {other} --port {port} ADDRESS"
            );
        }
        if self.json {
            return io::stdout().write_all(&line);
        }
        if event["event"] == "interval" {
            println!("{}", summary::interval(&event));
        }
        Ok(())
    }
}
