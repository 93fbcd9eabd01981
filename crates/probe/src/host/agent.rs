//! Requests on standard input, answers on standard output, until the input ends.

use super::program::{Program, Programs};
use super::refusal::Refusal;
use super::requests::{Request, parse};
use super::socket::Sockets;
use super::view::View;
use super::{files, processes, report, undo, usage};
use culvert_probe::protocol::emitter::Emitter;
use culvert_probe::protocol::failure::Failure;
use culvert_probe::protocol::requests::{self, Fields};
use culvert_probe::timing::clock;
use serde_json::{Value, json};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Grows when the meaning of a request or an answer changes.
const VERSION: u32 = 1;
const SILENT: i32 = 4;

/// Returns at the end of the input; the process ends when it is silent for too long.
pub fn serve(directory: &Path, view: &View, silence: Duration) {
    let (emitter, _writer) = Emitter::start(io::stdout());
    let heard_ns = Arc::new(AtomicU64::new(clock::monotonic_ns()));
    end_in_silence(Arc::clone(&heard_ns), silence);
    let mut agent = Agent {
        directory,
        view,
        programs: Programs::new(emitter.clone()),
        sockets: Sockets::new(emitter.clone()),
        emitter: emitter.clone(),
    };
    emitter.event(0, "ready", agent.hello());
    // An error of the input is its end, too.
    let _ = requests::read_all(io::stdin().lock(), &emitter, |id, fields| {
        agent.answer(id, fields);
        heard_ns.store(clock::monotonic_ns(), Ordering::Relaxed);
    });
}

fn end_in_silence(heard_ns: Arc<AtomicU64>, silence: Duration) {
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_millis(500));
            let since = clock::monotonic_ns().saturating_sub(heard_ns.load(Ordering::Relaxed));
            if u128::from(since) > silence.as_nanos() {
                report(format!("the connection was silent for {silence:?}"));
                std::process::exit(SILENT);
            }
        }
    });
}

struct Agent<'a> {
    /// Of what must be undone.
    directory: &'a Path,
    view: &'a View,
    programs: Programs,
    sockets: Sockets,
    emitter: Emitter,
}

impl Agent<'_> {
    fn answer(&mut self, id: u64, fields: Fields) {
        let outcome = parse(fields).map_err(Refusal::from);
        match outcome.and_then(|request| self.serve(id, request)) {
            Ok(Some(result)) => self.emitter.done(id, result),
            Ok(None) => {}
            Err(refusal) => self.emitter.event(id, "error", refusal.as_json()),
        }
    }

    /// The result; None if other events are the answer.
    fn serve(&mut self, id: u64, request: Request) -> Result<Option<Value>, Refusal> {
        let nothing = || Ok(Some(json!({})));
        match request {
            Request::Hello {} => Ok(Some(self.hello())),
            Request::Beat {} => Ok(Some(json!({
                "monotonic_ns": clock::monotonic_ns(),
                "realtime_ns": clock::realtime_ns(),
            }))),
            Request::Spawn(spawn) => {
                self.programs.spawn(id, &spawn)?;
                Ok(None)
            }
            Request::Input { of, data } => {
                if let Some(program) = self.programs.get(of) {
                    program.write(data.0);
                } else {
                    self.sockets.write(of, &data.0)?;
                }
                Ok(None)
            }
            Request::CloseInput { of } => {
                if let Some(program) = self.programs.get(of) {
                    program.close_input();
                } else {
                    self.sockets.shut(of);
                }
                nothing()
            }
            Request::Signal { of, signal } => {
                self.program(of)?.signal(signal);
                nothing()
            }
            Request::Stop { of, grace_ms } => {
                if self.sockets.close(of) {
                    return nothing();
                }
                self.programs.stop(id, of, Duration::from_millis(grace_ms));
                Ok(None)
            }
            Request::Usage { of } => Ok(Some(match self.programs.get(of) {
                Some(program) => usage::of(program.pid(), program.resumptions()),
                None => Value::Null,
            })),
            Request::Read { path } => Ok(Some(files::read(&path)?)),
            Request::Write {
                path,
                data,
                mode,
                append,
            } => {
                files::write(&path, &data.0, mode, append)?;
                nothing()
            }
            Request::Remove { path } => {
                files::remove(&path)?;
                nothing()
            }
            Request::Exists { path } => Ok(Some(json!(path.exists()))),
            Request::Find { program, path } => Ok(Some(json!(files::find(&program, &path)))),
            Request::Dial { path } => {
                self.sockets.dial(id, &path)?;
                Ok(None)
            }
            Request::Undo { argv } => {
                undo::keep(self.directory, &argv)?;
                nothing()
            }
            Request::Reset {} => {
                self.sockets.close_all();
                self.programs.forget_all();
                // Those whose parent has ended are the guard's.
                let others = || {
                    let mut all = processes::descendants(nix::unistd::getppid().as_raw());
                    all.retain(|&pid| pid != std::process::id() as i32);
                    all
                };
                let gone = processes::end(others);
                let failures = undo::all(self.directory);
                self.view.renew()?;
                Ok(Some(json!({"gone": gone, "failures": failures})))
            }
        }
    }

    fn hello(&self) -> Value {
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "protocol": VERSION,
            "pid": std::process::id(),
            "guard": nix::unistd::getppid().as_raw(),
            "directory": self.view.directory(),
            "architecture": std::env::consts::ARCH,
        })
    }

    fn program(&self, id: u64) -> Result<Arc<Program>, Refusal> {
        self.programs.get(id).ok_or_else(|| {
            let why = "no such program runs";
            Failure::new(format!("program {id}"), why, "it has ended, or was stopped").into()
        })
    }
}
