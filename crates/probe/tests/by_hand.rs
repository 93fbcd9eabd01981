//! Two commands by hand, over loopback.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

const PROBE: &str = env!("CARGO_BIN_EXE_culvert-probe");

#[test]
fn what_the_listener_tells_is_what_the_other_end_needs() {
    let mut receiver = Command::new(PROBE)
        .args(["udp-receive", "--bind", "127.0.0.1", "--duration", "1"])
        .env_remove("CULVERT_PROBE_TOKEN")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut printed = String::new();
    let mut errors = BufReader::new(receiver.stderr.take().unwrap());
    errors.read_line(&mut printed).unwrap();
    let command = printed.strip_prefix("on the other end: ").unwrap().trim();
    let (token, rest) = command.split_once(" culvert-probe ").unwrap();
    let words = rest.split(' ').map(|word| match word {
        "ADDRESS" => "127.0.0.1",
        other => other,
    });
    let sent = Command::new(PROBE)
        .args(words)
        .args(["--rate", "1000", "--duration", "0.05", "--json"])
        .env(
            "CULVERT_PROBE_TOKEN",
            token.strip_prefix("CULVERT_PROBE_TOKEN=").unwrap(),
        )
        .output()
        .unwrap();
    assert!(sent.status.success(), "{sent:?}");
    let last = sent
        .stdout
        .split(|&byte| byte == b'\n')
        .rev()
        .nth(1)
        .unwrap();
    let done: Value = serde_json::from_slice(last).unwrap();
    let packets = done["result"]["packets"].as_u64().unwrap();
    assert!(packets > 0);
    let mut summary = String::new();
    receiver
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut summary)
        .unwrap();
    assert!(receiver.wait().unwrap().success());
    let line = summary
        .lines()
        .rev()
        .find(|line| line.starts_with("packets "));
    let words: Vec<&str> = line.unwrap().split_whitespace().collect();
    assert_eq!(
        words,
        ["packets", packets.to_string().as_str()],
        "{summary}"
    );
}

#[test]
fn a_sender_without_a_token_is_told_how() {
    let refused = Command::new(PROBE)
        .args(["udp-send", "127.0.0.1", "--port", "9"])
        .env_remove("CULVERT_PROBE_TOKEN")
        .output()
        .unwrap();
    assert!(!refused.status.success());
    let why = String::from_utf8(refused.stderr).unwrap();
    assert!(why.contains("CULVERT_PROBE_TOKEN=..."), "{why}");
}
