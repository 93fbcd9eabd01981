//! What must be undone at the end: commands, kept in a file of the run's directory, so that they
//! survive the agent and the host's crash. The last is undone first.

use culvert_probe::protocol::failure::{Failure, during};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const FILE: &str = "undo";
/// A busy host takes its time; a command that waits for something else would take for ever.
const PATIENCE: Duration = Duration::from_secs(10);

/// Keeps a command until the end. A command that was kept before is kept once.
pub fn keep(directory: &Path, argv: &[String]) -> Result<(), Failure> {
    let mut line = serde_json::to_vec(argv).expect("texts are JSON");
    let path = directory.join(FILE);
    let kept = fs::read(&path).unwrap_or_default();
    if kept.split(|&byte| byte == b'\n').any(|one| one == line) {
        return Ok(());
    }
    line.push(b'\n');
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(&line))
        .map_err(during("keep what must be undone"))
}

/// Runs all of them, and forgets them. What they remove may be gone already: an exit code is no
/// failure, but a command that cannot be run, or does not end, is.
pub fn all(directory: &Path) -> Vec<String> {
    let text = fs::read_to_string(directory.join(FILE)).unwrap_or_default();
    let commands = text.lines().rev();
    let failures = commands
        .filter_map(|line| serde_json::from_str::<Vec<String>>(line).ok())
        .filter_map(|argv| run(&argv).err())
        .collect();
    let _ = fs::remove_file(directory.join(FILE));
    failures
}

fn run(argv: &[String]) -> Result<(), String> {
    let failed = |why: String| format!("undo {}: {why}", argv.join(" "));
    let (program, rest) = argv
        .split_first()
        .ok_or_else(|| failed("it is empty".into()))?;
    let mut command = Command::new(program);
    command
        .args(rest)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    if ended(&mut child) {
        return Ok(());
    }
    let _ = child.kill();
    let _ = child.wait();
    Err(failed(format!("it did not end within {PATIENCE:?}")))
}

fn ended(child: &mut Child) -> bool {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if !matches!(child.try_wait(), Ok(None)) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    false
}
