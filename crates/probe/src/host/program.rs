//! Programs of the run: each the leader of its own session and process group, dying with the agent.

use super::processes;
use super::refusal::Refusal;
use super::requests::Spawn;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use culvert_probe::protocol::emitter::Emitter;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{Pid, setsid};
use serde_json::json;
use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const CHUNK: usize = 1 << 16;
/// How long a killed group may take to end.
const GONE: Duration = Duration::from_secs(2);

type Table = Arc<Mutex<HashMap<u64, Arc<Program>>>>;

pub struct Programs {
    emitter: Emitter,
    table: Table,
}

/// A program that has not been reaped: until then neither its id nor its group's can be reused.
pub struct Program {
    child: Mutex<Child>,
    pid: i32,
    input: Mutex<Option<Sender<Vec<u8>>>>,
    ended: Mutex<bool>,
    resumptions: AtomicU64,
    changed: Condvar,
}

impl Programs {
    pub fn new(emitter: Emitter) -> Programs {
        Programs {
            emitter,
            table: Table::default(),
        }
    }

    pub fn get(&self, id: u64) -> Option<Arc<Program>> {
        lock(&self.table).get(&id).cloned()
    }

    /// `started`, then `output` and `closed` of each stream, and `exited` at its end.
    pub fn spawn(&self, id: u64, spawn: &Spawn) -> Result<(), Refusal> {
        let name = spawn.argv.first().map_or("", String::as_str);
        let failed = |error: io::Error| Refusal::io(name, &error);
        let (mut stamps, stamp) = io::pipe().map_err(failed)?;
        let mut command = command(spawn, stamp.as_fd().as_raw_fd()).map_err(failed)?;
        let mut child = command.spawn().map_err(failed)?;
        drop((stamp, command));
        let mut ns = [0; 8];
        stamps.read_exact(&mut ns).map_err(failed)?;
        let streams = [
            ("out", child.stdout.take().map(OwnedFd::from)),
            ("err", child.stderr.take().map(OwnedFd::from)),
        ];
        let input = child.stdin.take().map(write_all_of);
        let pid = child.id() as i32;
        let program = Arc::new(Program {
            child: Mutex::new(child),
            pid,
            input: Mutex::new(input),
            ended: Mutex::new(false),
            resumptions: AtomicU64::new(0),
            changed: Condvar::new(),
        });
        lock(&self.table).insert(id, Arc::clone(&program));
        let started_ns = u64::from_le_bytes(ns);
        self.emitter
            .event(id, "started", json!({"pid": pid, "started_ns": started_ns}));
        let readers: Vec<_> = streams
            .into_iter()
            .filter_map(|(name, stream)| Some(pass_on(&self.emitter, id, name, stream?)))
            .collect();
        self.report_end(id, program, readers, spawn.once);
        Ok(())
    }

    fn report_end(&self, id: u64, program: Arc<Program>, readers: Vec<JoinHandle<()>>, once: bool) {
        let (emitter, table) = (self.emitter.clone(), Arc::clone(&self.table));
        std::thread::spawn(move || {
            let code = program.wait();
            if once {
                // Its children must not keep the streams open.
                program.kill_group();
                for reader in readers {
                    let _ = reader.join();
                }
                lock(&table).remove(&id);
            }
            emitter.event(id, "exited", json!({"code": code}));
        });
    }

    /// Each is killed by the caller; its thread reaps it.
    pub fn forget_all(&self) {
        for (_, program) in lock(&self.table).drain() {
            std::thread::spawn(move || program.kill_group());
        }
    }

    /// Ends the program and its group, reaps it, then answers `done` to the request `id`.
    pub fn stop(&self, id: u64, of: u64, grace: Duration) {
        let emitter = self.emitter.clone();
        let Some(program) = lock(&self.table).remove(&of) else {
            return emitter.done(id, json!({"gone": true}));
        };
        std::thread::spawn(move || {
            if !grace.is_zero() && !program.has_ended(Duration::ZERO) {
                program.signal(libc::SIGTERM);
                program.has_ended(grace);
            }
            program.kill_group();
            emitter.done(id, json!({"gone": !processes::group_runs(program.pid)}));
        });
    }
}

impl Program {
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// How often it was found to have been continued after a stop: the kernel reports it to the
    /// parent, once.
    pub fn resumptions(&self) -> u64 {
        // SAFETY: siginfo_t is plain data, filled by the kernel; its id is ours until it is reaped.
        let mut found: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let options = libc::WCONTINUED | libc::WNOHANG;
        // SAFETY: `found` is valid for the call.
        let done = unsafe { libc::waitid(libc::P_PID, self.pid as u32, &mut found, options) };
        let resumed = done == 0 && found.si_code == libc::CLD_CONTINUED;
        u64::from(resumed)
            + self
                .resumptions
                .fetch_add(u64::from(resumed), Ordering::Relaxed)
    }

    /// To its group. One that has ended but is not reaped yet has its group still.
    pub fn signal(&self, signal: i32) {
        // SAFETY: kill has no memory to harm; the group is ours until it is reaped.
        unsafe { libc::killpg(self.pid, signal) };
    }

    pub fn write(&self, data: Vec<u8>) {
        if let Some(input) = lock(&self.input).as_ref() {
            let _ = input.send(data);
        }
    }

    pub fn close_input(&self) {
        lock(&self.input).take();
    }

    /// Its exit code, negative for a signal; it is not reaped yet.
    fn wait(&self) -> i32 {
        // SAFETY: siginfo_t is plain data, filled by the kernel.
        let mut found: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let options = libc::WEXITED | libc::WNOWAIT;
        // SAFETY: `found` is valid for the call.
        while unsafe { libc::waitid(libc::P_PID, self.pid as u32, &mut found, options) } == -1
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
        // SAFETY: waitid filled the fields of a child's end.
        let status = unsafe { found.si_status() };
        *lock(&self.ended) = true;
        self.changed.notify_all();
        if found.si_code == libc::CLD_EXITED {
            status
        } else {
            -status
        }
    }

    /// Whether it has ended, or ends within that time.
    fn has_ended(&self, within: Duration) -> bool {
        let ended = lock(&self.ended);
        let waited = self
            .changed
            .wait_timeout_while(ended, within, |ended| !*ended);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Kills what is left of its group, reaps it, and waits until no process of the group runs.
    fn kill_group(&self) {
        self.close_input();
        self.signal(libc::SIGKILL);
        if let Ok(status) = lock(&self.child).wait() {
            debug_assert!(status.code().is_some() || status.signal().is_some());
        }
        let deadline = Instant::now() + GONE;
        while processes::group_runs(self.pid) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Writing never blocks the agent: a thread has the pipe.
fn write_all_of(mut input: ChildStdin) -> Sender<Vec<u8>> {
    let (sender, receiver) = channel::<Vec<u8>>();
    std::thread::spawn(move || {
        for data in receiver {
            if input.write_all(&data).and_then(|()| input.flush()).is_err() {
                return;
            }
        }
    });
    sender
}

fn pass_on(emitter: &Emitter, id: u64, name: &'static str, stream: OwnedFd) -> JoinHandle<()> {
    let emitter = emitter.clone();
    std::thread::spawn(move || {
        let mut stream = fs::File::from(stream);
        let mut chunk = vec![0; CHUNK];
        while let Ok(count @ 1..) = stream.read(&mut chunk) {
            let data = STANDARD.encode(&chunk[..count]);
            emitter.event(id, "output", json!({"stream": name, "data": data}));
        }
        emitter.event(id, "closed", json!({"stream": name}));
    })
}

fn command(spawn: &Spawn, stamp: i32) -> io::Result<Command> {
    let Some((program, rest)) = spawn.argv.split_first() else {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    };
    let mut command = Command::new(program);
    command
        .args(rest)
        .env_clear()
        .envs(&spawn.env)
        .current_dir("/");
    let piped = |wanted: bool| {
        if wanted {
            Stdio::piped()
        } else {
            Stdio::null()
        }
    };
    command
        .stdin(piped(spawn.pipes))
        .stdout(piped(spawn.pipes))
        .stderr(piped(spawn.pipes));
    if let Some(path) = &spawn.log {
        // An earlier program of that name may still write to its log.
        let _ = fs::remove_file(path);
        let log = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(path)?;
        if !spawn.pipes {
            command.stdout(log.try_clone()?);
        }
        command.stderr(log);
    }
    let cpus = spawn.cpus.as_deref().map(cpu_set).transpose()?;
    // SAFETY: only system calls are made between fork and execution.
    unsafe {
        command.pre_exec(move || {
            setsid()?;
            prctl::set_pdeathsig(Signal::SIGKILL)?;
            if let Some(cpus) = &cpus {
                sched_setaffinity(Pid::from_raw(0), cpus)?;
            }
            for ignored in [libc::SIGPIPE, libc::SIGINT, libc::SIGQUIT, libc::SIGHUP] {
                libc::signal(ignored, libc::SIG_DFL);
            }
            sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?;
            let now = clock_gettime(ClockId::CLOCK_MONOTONIC)?;
            let ns = (now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64).to_le_bytes();
            if libc::write(stamp, ns.as_ptr().cast(), ns.len()) != ns.len() as isize {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        });
    }
    Ok(command)
}

fn cpu_set(cpus: &[usize]) -> io::Result<CpuSet> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu)?;
    }
    Ok(set)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
