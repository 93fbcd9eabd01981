//! An agent that a test talks to, over loopback only.

use crate::LOOPBACK;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

pub const TOKEN: &str = "00112233445566778899aabbccddeeff";
pub const CANARY: &str = "c0ffee00badcab1e5eed0ddba11f00dfacade0ff1ce0decade0dab0b0ca5cade";

const PROBE: &str = env!("CARGO_BIN_EXE_culvert-probe");

pub struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// Answers that came while another was awaited.
    pending: Vec<Value>,
}

impl Agent {
    pub fn start() -> Agent {
        Agent::of(Command::new(PROBE).arg("agent"))
    }

    /// One that may open only so many files.
    pub fn with_descriptors(most: u32) -> Agent {
        let script = format!("ulimit -n {most} && exec {PROBE} agent");
        Agent::of(Command::new("sh").args(["-c", &script]))
    }

    fn of(command: &mut Command) -> Agent {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Agent {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            pending: Vec::new(),
        }
    }

    pub fn send_bytes(&mut self, line: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line).unwrap();
        input.write_all(b"\n").unwrap();
        input.flush().unwrap();
    }

    pub fn send(&mut self, request: Value) {
        self.send_bytes(request.to_string().as_bytes());
    }

    /// The next answer of this id (None: an answer without id) that is not an interval.
    pub fn answer(&mut self, id: Option<u64>) -> Value {
        let wanted = |answer: &Value| answer["id"] == json!(id);
        if let Some(index) = self.pending.iter().position(wanted) {
            return self.pending.remove(index);
        }
        loop {
            let mut line = String::new();
            assert!(
                self.output.read_line(&mut line).unwrap() > 0,
                "the agent is gone"
            );
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["event"] == "interval" {
                continue;
            }
            if wanted(&answer) {
                return answer;
            }
            self.pending.push(answer);
        }
    }

    /// Starts a task and waits until it is ready.
    pub fn ready(&mut self, request: Value) -> Value {
        let id = request["id"].as_u64();
        self.send(request);
        let answer = self.answer(id);
        assert_eq!(answer["event"], "ready", "{answer}");
        answer
    }

    /// Waits for the result of a task.
    pub fn done(&mut self, id: u64) -> Value {
        let mut answer = self.answer(Some(id));
        assert_eq!(answer["event"], "done", "{answer}");
        answer["result"].take()
    }

    pub fn stop(&mut self, id: u64) -> Value {
        self.send(json!({"id": id, "do": "stop"}));
        self.done(id)
    }

    pub fn error(&mut self, id: Option<u64>) -> Value {
        let answer = self.answer(id);
        assert_eq!(answer["event"], "error", "{answer}");
        for field in ["what", "why", "remedy"] {
            assert!(!answer[field].as_str().unwrap().is_empty(), "{answer}");
        }
        answer
    }

    /// Ends the input and waits for the agent's own end.
    pub fn end(mut self) -> std::process::ExitStatus {
        drop(self.input.take());
        self.child.wait().unwrap()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn udp_sink_with_buffer(agent: &mut Agent, id: u64, receive_buffer: usize) -> u16 {
    let ready = agent.ready(json!({
        "id": id, "do": "udp_sink", "bind": LOOPBACK, "token": TOKEN, "canary": CANARY,
        "receive_buffer": receive_buffer, "interval_ms": 50, "duration_max_s": 20,
    }));
    ready["port"].as_u64().unwrap() as u16
}

pub fn udp_sink(agent: &mut Agent, id: u64) -> u16 {
    udp_sink_with_buffer(agent, id, 8 << 20)
}

pub fn echo(agent: &mut Agent, id: u64, idle_s: f64) -> u16 {
    let ready = agent.ready(json!({
        "id": id, "do": "echo", "bind": LOOPBACK, "token": TOKEN, "idle_s": idle_s,
    }));
    ready["port"].as_u64().unwrap() as u16
}
