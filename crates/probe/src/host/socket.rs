//! Connections to unix sockets of this host, on behalf of the controller.

use super::refusal::Refusal;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use culvert_probe::protocol::emitter::Emitter;
use serde_json::json;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;

const CHUNK: usize = 1 << 16;

pub struct Sockets {
    emitter: Emitter,
    open: HashMap<u64, UnixStream>,
}

impl Sockets {
    pub fn new(emitter: Emitter) -> Sockets {
        Sockets {
            emitter,
            open: HashMap::new(),
        }
    }

    /// `started`, then `output`, then `closed`.
    pub fn dial(&mut self, id: u64, path: &Path) -> Result<(), Refusal> {
        let failed = |error: std::io::Error| Refusal::io(path.display().to_string(), &error);
        let socket = UnixStream::connect(path).map_err(failed)?;
        let mut reader = socket.try_clone().map_err(failed)?;
        self.open.insert(id, socket);
        let emitter = self.emitter.clone();
        emitter.event(id, "started", json!({}));
        std::thread::spawn(move || {
            let mut chunk = vec![0; CHUNK];
            while let Ok(count @ 1..) = reader.read(&mut chunk) {
                let data = STANDARD.encode(&chunk[..count]);
                emitter.event(id, "output", json!({"stream": "out", "data": data}));
            }
            emitter.event(id, "closed", json!({"stream": "out"}));
        });
        Ok(())
    }

    pub fn write(&mut self, id: u64, data: &[u8]) -> Result<(), Refusal> {
        if let Some(socket) = self.open.get_mut(&id) {
            // If the other end has closed it, `closed` says so.
            drop(socket.write_all(data));
        }
        Ok(())
    }

    pub fn shut(&mut self, id: u64) {
        if let Some(socket) = self.open.get(&id) {
            let _ = socket.shutdown(Shutdown::Write);
        }
    }

    pub fn close_all(&mut self) {
        for (_, socket) in self.open.drain() {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Whether there was such a connection.
    pub fn close(&mut self, id: u64) -> bool {
        match self.open.remove(&id) {
            Some(socket) => {
                let _ = socket.shutdown(Shutdown::Both);
                true
            }
            None => false,
        }
    }
}
