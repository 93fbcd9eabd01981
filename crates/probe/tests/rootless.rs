//! `culvert-probe rootless`: exit codes, streams, signals, and that nothing outlives it.
//!
//! Where the kernel gives no user namespaces there is nothing to test.

use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const PROBE: &str = env!("CARGO_BIN_EXE_culvert-probe");
const DEADLINE: Duration = Duration::from_secs(10);

fn rootless(script: &str) -> Command {
    let mut command = Command::new(PROBE);
    command.args(["rootless", "--", "sh", "-c", script]);
    command
}

fn run(script: &str) -> Option<Output> {
    if rootless("true").status().unwrap().code() != Some(0) {
        eprintln!("skipped: no user namespaces here");
        return None;
    }
    Some(rootless(script).output().unwrap())
}

#[test]
fn exit_codes_and_signals_are_the_programs() {
    let Some(done) = run("exit 7") else { return };
    assert_eq!(done.status.code(), Some(7));
    let done = run("kill -TERM $$").unwrap();
    assert_eq!(done.status.signal(), Some(libc::SIGTERM));
    let done = Command::new(PROBE)
        .args(["rootless", "--", "/no/such/program"])
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(127));
}

#[test]
fn it_is_root_of_a_process_tree_of_its_own() {
    let Some(done) = run("id -u; echo $$; cat /proc/1/comm; touch /run/netns || echo no") else {
        return;
    };
    let text = String::from_utf8(done.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines, ["0", "2", "culvert-probe"]);
}

#[test]
fn a_node_has_a_sysfs_where_that_of_outside_is_read_only() {
    let script = format!(
        "mount -o remount,bind,ro /sys && exec {PROBE} rootless -- \
         {PROBE} exec --own-network --sysfs -- ls /sys/class/net"
    );
    let Some(done) = run(&script) else { return };
    assert_eq!(String::from_utf8(done.stdout).unwrap().trim(), "lo");
}

#[test]
fn what_nobody_waits_for_is_reaped() {
    let Some(done) = run("(sleep 0.05 &) ; sleep 0.3; ls /proc | grep -c '^[0-9]'") else {
        return;
    };
    // init, the shell, ls and grep
    assert_eq!(String::from_utf8(done.stdout).unwrap().trim(), "4");
}

#[test]
fn a_signal_reaches_the_program_once() {
    let script = "trap 'echo got' TERM; echo ready; while :; do sleep 0.05; done";
    let Some((mut child, _)) = started(script) else {
        return;
    };
    send(&child, libc::SIGTERM);
    assert_eq!(line(&mut child), "got");
    send(&child, libc::SIGKILL);
    child.wait().unwrap();
}

#[test]
fn nothing_outlives_the_supervisor() {
    let script = "setsid sleep 1000 & echo $CULVERT_WITHOUT_ROOT; wait";
    let Some((mut child, init)) = started(script) else {
        return;
    };
    let inside = descendants(init.parse().unwrap());
    assert!(inside.len() >= 3, "{inside:?}");
    send(&child, libc::SIGKILL);
    child.wait().unwrap();
    let begun = Instant::now();
    while inside.iter().any(|pid| runs(*pid)) {
        assert!(begun.elapsed() < DEADLINE, "{inside:?} are still there");
        std::thread::yield_now();
    }
}

/// A program whose first line has come.
fn started(script: &str) -> Option<(Child, String)> {
    run("true")?;
    let mut child = rootless(script).stdout(Stdio::piped()).spawn().unwrap();
    let first = line(&mut child);
    Some((child, first))
}

fn line(child: &mut Child) -> String {
    let mut text = String::new();
    let mut byte = [0];
    let out = child.stdout.as_mut().unwrap();
    while out.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
        text.push(char::from(byte[0]));
    }
    text
}

fn send(child: &Child, signal: libc::c_int) {
    // SAFETY: the child is ours and has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

fn descendants(pid: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let below = children
        .split_whitespace()
        .flat_map(|child| descendants(child.parse().unwrap()));
    std::iter::once(pid).chain(below).collect()
}

fn runs(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        let state = stat.rsplit(") ").next().unwrap_or_default();
        !state.starts_with('Z') && !state.starts_with('X')
    })
}
