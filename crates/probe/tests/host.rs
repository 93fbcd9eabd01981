//! `culvert-probe host`: requests and answers, and that nothing remains at the end.
//!
//! It needs root, for a mount namespace; without, there is nothing to test.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const PROBE: &str = env!("CARGO_BIN_EXE_culvert-probe");
const DEADLINE: Duration = Duration::from_secs(5);
const IN_USE: i32 = 5;

struct Host {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    directory: PathBuf,
    /// Of its files, as its programs see them.
    own: PathBuf,
    guard: i64,
    agent: i64,
}

impl Host {
    fn start(name: &str) -> Option<Host> {
        if !nix::unistd::geteuid().is_root() {
            eprintln!("skipped: no root");
            return None;
        }
        let directory = directory(name, 0o700);
        let mut child = command(&directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut host = Host {
            child,
            input,
            output,
            directory,
            own: PathBuf::new(),
            guard: 0,
            agent: 0,
        };
        let ready = host.next();
        assert_eq!(ready["event"], "ready");
        host.own = ready["directory"].as_str().unwrap().into();
        host.guard = ready["guard"].as_i64().unwrap();
        host.agent = ready["pid"].as_i64().unwrap();
        Some(host)
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn send(&mut self, request: Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{request}").unwrap();
    }

    fn request(&mut self, request: Value) -> Value {
        let id = request["id"].clone();
        self.send(request);
        loop {
            let event = self.next();
            if event["id"] == id {
                return event;
            }
        }
    }

    /// A path of its programs, as it is seen from here.
    fn seen(&self, path: &Path) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{}", self.agent, path.display()))
    }

    /// Kills the guard, and so the agent.
    fn kill_guard(&mut self) {
        kill(self.guard);
        self.child.wait().unwrap();
    }

    /// The end of its input; its exit code.
    fn end(mut self) -> Option<i32> {
        self.input.take();
        self.child.wait().unwrap().code()
    }
}

fn kill(pid: i64) {
    let pid = nix::unistd::Pid::from_raw(pid as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
}

fn command(directory: &Path) -> Command {
    let mut command = Command::new(PROBE);
    command.args(["host", "--directory"]).arg(directory);
    command
}

fn directory(name: &str, mode: u32) -> PathBuf {
    let path = std::env::temp_dir().join(format!("culvert-test-{}-{name}", std::process::id()));
    fs::DirBuilder::new().mode(mode).create(&path).unwrap();
    path
}

fn wait_until(what: &str, fact: impl Fn() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !fact() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn runs(argument: &str) -> bool {
    let is = |entry: fs::DirEntry| {
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        words
            .split(|byte| *byte == 0)
            .any(|word| word == argument.as_bytes())
    };
    fs::read_dir("/proc").unwrap().flatten().any(is)
}

fn env() -> Value {
    json!({"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
}

#[test]
fn a_program_has_streams_and_an_exit_code() {
    let Some(mut host) = Host::start("program") else {
        return;
    };
    let argv = json!(["sh", "-c", "cat; echo err >&2; exit 3"]);
    let request =
        json!({"id": 1, "do": "spawn", "argv": argv, "env": env(), "pipes": true, "once": true});
    assert_eq!(host.request(request)["event"], "started");
    host.send(json!({"id": 2, "do": "input", "of": 1, "data": STANDARD.encode("given")}));
    host.send(json!({"id": 3, "do": "close_input", "of": 1}));
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = loop {
        let event = host.next();
        match event["event"].as_str().unwrap() {
            "output" => {
                let data = STANDARD.decode(event["data"].as_str().unwrap()).unwrap();
                if event["stream"] == "out" {
                    out.extend(data)
                } else {
                    err.extend(data)
                }
            }
            "exited" => break event["code"].clone(),
            _ => {}
        }
    };
    assert_eq!(
        (out, err, code),
        (b"given".to_vec(), b"err\n".to_vec(), json!(3))
    );
    let missing = host.request(json!({"id": 4, "do": "spawn", "argv": ["no-such-program"]}));
    assert_eq!(
        (&missing["event"], &missing["errno"]),
        (&json!("error"), &json!(libc::ENOENT))
    );
    assert_eq!(host.end(), Some(0));
}

#[test]
fn the_end_of_the_input_undoes_everything() {
    let Some(mut host) = Host::start("end") else {
        return;
    };
    let mark = format!("{}", 70_000 + std::process::id());
    // Idle: it ends last.
    let away = format!("setsid chrt --idle 0 sleep {mark} & echo");
    let spawn = json!({"id": 1, "do": "spawn", "argv": ["sh", "-c", away], "env": env()});
    assert_eq!(host.request(spawn)["event"], "started");
    wait_until("a program that left its parent", || runs(&mark));
    let undone = host.directory.with_extension("undone");
    for order in ["1", "2"] {
        let script = format!("echo {order} >> {}", undone.display());
        let argv = json!(["/bin/sh", "-c", script]);
        assert_eq!(
            host.request(json!({"id": 2, "do": "undo", "argv": argv}))["event"],
            "done"
        );
    }
    let path = host.own.join("deep/secret");
    let data = STANDARD.encode("x");
    let write = json!({"id": 3, "do": "write", "path": path, "data": data, "mode": 0o600});
    assert_eq!(host.request(write)["event"], "done");
    assert_eq!(
        fs::metadata(host.seen(&path)).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert!(!path.exists(), "others see no file of the run");
    let directory = host.directory.clone();
    assert_eq!(host.end(), Some(0));
    assert!(!runs(&mark));
    assert!(!directory.exists());
    assert_eq!(fs::read_to_string(&undone).unwrap(), "2\n1\n");
    fs::remove_file(undone).unwrap();
}

#[test]
fn a_killed_agent_leaves_nothing() {
    let Some(mut host) = Host::start("killed") else {
        return;
    };
    let mark = format!("{}", 80_000 + std::process::id());
    let spawn = json!({"id": 1, "do": "spawn", "argv": ["sleep", mark], "env": env()});
    assert_eq!(host.request(spawn)["event"], "started");
    wait_until("the program", || runs(&mark));
    kill(host.agent);
    host.child.wait().unwrap();
    assert!(!runs(&mark));
    assert!(!host.directory.exists());
}

#[test]
fn what_killed_processes_left_is_cleaned() {
    let Some(mut host) = Host::start("left") else {
        return;
    };
    let mark = format!("{}", 90_000 + std::process::id());
    // Idle: it ends last.
    let away = format!("setsid chrt --idle 0 sleep {mark} & echo");
    let spawn = json!({"id": 1, "do": "spawn", "argv": ["sh", "-c", away], "env": env()});
    assert_eq!(host.request(spawn)["event"], "started");
    wait_until("a program that left its parent", || runs(&mark));
    let used = command(&host.directory).arg("--clean").output().unwrap();
    assert_eq!(
        used.status.code(),
        Some(IN_USE),
        "another agent's directory is left alone"
    );
    host.kill_guard();
    assert!(runs(&mark) && host.directory.exists());
    let unlocked = || {
        command(&host.directory)
            .arg("--clean")
            .status()
            .unwrap()
            .success()
    };
    wait_until("the directory is cleaned", unlocked);
    assert!(!runs(&mark) && !host.directory.exists());
    assert!(unlocked(), "another run may have cleaned it before");
}

#[test]
fn after_a_restart_of_the_host_nothing_is_undone() {
    let before = "00000000-0000-0000-0000-000000000000\n";
    for (name, kept, undone) in [
        ("same", None, true),
        ("restarted", Some(before), false),
        ("empty", Some(""), false),
    ] {
        let Some(mut host) = Host::start(name) else {
            return;
        };
        let mark = host.directory.with_extension("undone");
        let argv = json!(["/bin/touch", mark]);
        let keep = json!({"id": 1, "do": "undo", "argv": argv});
        assert_eq!(host.request(keep)["event"], "done");
        host.kill_guard();
        if let Some(kept) = kept {
            fs::write(host.directory.join("boot"), kept).unwrap();
        }
        let cleaned = || {
            let status = command(&host.directory).arg("--clean").status().unwrap();
            assert!([Some(0), Some(IN_USE)].contains(&status.code()));
            status.success()
        };
        wait_until("the directory is cleaned", cleaned);
        assert!(!host.directory.exists());
        assert_eq!(mark.exists(), undone, "{name}");
        let _ = fs::remove_file(mark);
    }
}

#[test]
fn a_reset_keeps_which_start_of_the_kernel_it_was() {
    let Some(mut host) = Host::start("boot") else {
        return;
    };
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert_eq!(
        host.request(json!({"id": 1, "do": "reset"}))["event"],
        "done"
    );
    let kept = fs::read_to_string(host.directory.join("boot")).unwrap();
    assert!(kept.starts_with(&boot_id), "{kept}");
    assert_eq!(host.end(), Some(0));
}

#[test]
fn a_reset_keeps_the_agent() {
    let Some(mut host) = Host::start("reset") else {
        return;
    };
    let mark = format!("{}", 60_000 + std::process::id());
    let spawn = json!({"id": 1, "do": "spawn", "argv": ["sleep", mark], "env": env()});
    assert_eq!(host.request(spawn)["event"], "started");
    let path = host.own.join("file");
    host.request(json!({"id": 2, "do": "write", "path": path, "data": "", "mode": 0o644}));
    let done = host.request(json!({"id": 3, "do": "reset"}));
    assert_eq!(done["result"], json!({"gone": true, "failures": []}));
    assert!(!runs(&mark) && !host.seen(&path).exists());
    assert!(host.seen(&host.own.join("logs")).is_dir());
    assert_eq!(
        host.request(json!({"id": 4, "do": "beat"}))["event"],
        "done"
    );
    assert_eq!(host.end(), Some(0));
}

#[test]
fn the_end_of_what_started_it_undoes_everything() {
    let Some(mut host) = Host::start("caller") else {
        return;
    };
    let mark = format!("{}", 50_000 + std::process::id());
    let spawn = json!({"id": 1, "do": "spawn", "argv": ["sleep", mark], "env": env()});
    assert_eq!(host.request(spawn)["event"], "started");
    host.child.kill().unwrap();
    host.child.wait().unwrap();
    let (mark, directory) = (&mark, &host.directory);
    wait_until("nothing is left", || !runs(mark) && !directory.exists());
}

/// Such as after the loss of the connection.
#[test]
fn nobody_has_to_read_what_remains() {
    let Some(mut host) = Host::start("unread") else {
        return;
    };
    let undone = host.directory.with_extension("undone");
    for argv in [json!(["/bin/touch", undone]), json!(["/no/such/program"])] {
        let keep = json!({"id": 1, "do": "undo", "argv": argv});
        assert_eq!(host.request(keep)["event"], "done");
    }
    drop(host.child.stderr.take());
    let directory = host.directory.clone();
    assert_eq!(host.end(), Some(1));
    assert!(!directory.exists() && undone.exists());
    fs::remove_file(undone).unwrap();
}

#[test]
fn a_directory_of_another_user_is_refused_unless_it_is_named() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let directory = directory("owner", 0o700);
    std::os::unix::fs::chown(&directory, Some(4242), None).unwrap();
    let code = |words: &[&str]| {
        let mut command = command(&directory);
        command.args(words).stdin(Stdio::null());
        command.output().unwrap().status.code()
    };
    assert_eq!(code(&[]), Some(3));
    assert_eq!(code(&["--owner", "4243"]), Some(3));
    assert_eq!(code(&["--owner", "4242"]), Some(0));
    assert!(!directory.exists());
}

#[test]
fn silence_is_the_end() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let directory = directory("silence", 0o700);
    let mut child = command(&directory)
        .args(["--silence-s", "1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let open = child.stdin.take();
    assert!(child.wait().unwrap().code().is_some());
    drop(open);
    assert!(!directory.exists());
}

#[test]
fn a_directory_that_others_may_use_is_refused() {
    let directory = directory("others", 0o755);
    let refused = command(&directory).stdin(Stdio::null()).output().unwrap();
    fs::remove_dir_all(&directory).unwrap();
    assert_eq!(refused.status.code(), Some(3));
    let text = String::from_utf8(refused.stderr).unwrap();
    assert!(
        text.contains("others may use it") && text.contains("0700"),
        "{text}"
    );
}
