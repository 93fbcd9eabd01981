//! Packets and their bytes.

use serde::Serialize;

#[derive(Debug, Default, Clone, Copy, Serialize)]
pub struct Count {
    pub packets: u64,
    pub bytes: u64,
}

impl Count {
    pub fn add(&mut self, length: usize) {
        self.packets += 1;
        self.bytes += length as u64;
    }

    fn since(self, before: Count) -> Count {
        Count {
            packets: self.packets - before.packets,
            bytes: self.bytes - before.bytes,
        }
    }
}

#[derive(Debug, Default, Clone, Copy, Serialize)]
pub struct PerDirection {
    pub out: Count,
    #[serde(rename = "in")]
    pub inward: Count,
}

impl PerDirection {
    pub fn add(&mut self, outgoing: bool, length: usize) {
        if outgoing {
            self.out.add(length);
        } else {
            self.inward.add(length);
        }
    }

    /// What was added after an earlier state of it.
    pub fn since(self, before: PerDirection) -> PerDirection {
        PerDirection {
            out: self.out.since(before.out),
            inward: self.inward.since(before.inward),
        }
    }
}
