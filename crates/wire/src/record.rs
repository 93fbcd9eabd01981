//! What passed: a ring of packets in memory, and the pcapng file that it is saved to.
//!
//! Each direction has a tape of its own, so that recording adds no waiting between them. When a
//! tape is full the oldest packets make room.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};

/// In front of each packet: its time in nanoseconds, its length, and how much of it is kept.
const HEAD_BYTES: usize = 16;

/// if_tsresol (pcapng, section 4.2): times are in 10^-9 seconds.
const NANOSECONDS: u8 = 9;
/// epb_flags (pcapng, section 4.3): what a node received.
const INBOUND: u32 = 1;

/// What to record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the ring.
    pub ring_bytes: usize,
    /// Bytes kept of each packet.
    pub packet_bytes: usize,
}

#[derive(Debug, Default)]
struct Ring {
    bytes: VecDeque<u8>,
    limits: Option<Limits>,
    packets: u64,
    /// Packets that had to make room.
    forgotten: u64,
}

/// A recording of one direction.
#[derive(Debug, Default)]
pub struct Tape {
    running: AtomicBool,
    ring: Mutex<Ring>,
}

/// A packet as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Recorded {
    at_ns: u64,
    length: u32,
    bytes: Vec<u8>,
}

/// What a file holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Saved {
    pub packets: u64,
    /// Packets that were recorded and had to make room for later ones.
    pub forgotten: u64,
}

impl Tape {
    /// Start anew, with an empty ring.
    pub fn start(&self, limits: Limits) {
        *self.ring() = Ring {
            limits: Some(limits),
            ..Ring::default()
        };
        self.running.store(true, Ordering::Release);
    }

    /// Stop; what was recorded stays until the next start.
    pub fn stop(&self) {
        self.running.store(false, Ordering::Release);
    }

    pub fn is_running(&self) -> bool {
        self.running.load(Ordering::Acquire)
    }

    /// A packet passes now.
    pub fn record(&self, packet: &[u8]) {
        let at_ns = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_nanos() as u64;
        self.ring().push(at_ns, packet);
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn copy(&self) -> (Vec<Recorded>, u64) {
        let ring = self.ring();
        (ring.read(), ring.forgotten)
    }
}

impl Ring {
    fn push(&mut self, at_ns: u64, packet: &[u8]) {
        let Some(limits) = self.limits else { return };
        let kept = &packet[..packet.len().min(limits.packet_bytes)];
        let needed = HEAD_BYTES + kept.len();
        if needed > limits.ring_bytes {
            self.forgotten += 1;
            return;
        }
        while self.bytes.len() + needed > limits.ring_bytes {
            let oldest = HEAD_BYTES + self.kept_bytes_at(0);
            self.bytes.drain(..oldest);
            self.packets -= 1;
            self.forgotten += 1;
        }
        self.bytes.extend(at_ns.to_ne_bytes());
        self.bytes.extend((packet.len() as u32).to_ne_bytes());
        self.bytes.extend((kept.len() as u32).to_ne_bytes());
        self.bytes.extend(kept);
        self.packets += 1;
    }

    fn kept_bytes_at(&self, at: usize) -> usize {
        let mut field = [0; 4];
        for (to, from) in field
            .iter_mut()
            .zip(self.bytes.range(at + 12..at + HEAD_BYTES))
        {
            *to = *from;
        }
        u32::from_ne_bytes(field) as usize
    }

    fn read(&self) -> Vec<Recorded> {
        let take = |at: usize, bytes: usize| -> Vec<u8> {
            self.bytes.range(at..at + bytes).copied().collect()
        };
        let mut packets = Vec::new();
        let mut at = 0;
        while at < self.bytes.len() {
            let kept = self.kept_bytes_at(at);
            packets.push(Recorded {
                at_ns: u64::from_ne_bytes(take(at, 8).try_into().unwrap_or_default()),
                length: u32::from_ne_bytes(take(at + 8, 4).try_into().unwrap_or_default()),
                bytes: take(at + HEAD_BYTES, kept),
            });
            at += HEAD_BYTES + kept;
        }
        packets
    }
}

/// Save what the tapes of both directions hold, by time, as interfaces "a to b" and "b to a".
///
/// The file appears whole or not at all, and only its owner can read it: packets are in it.
pub fn save(tapes: [&Tape; 2], path: &Path) -> io::Result<Saved> {
    let mut saved = Saved::default();
    let mut packets = Vec::new();
    for (direction, tape) in (0..).zip(tapes) {
        let (recorded, forgotten) = tape.copy();
        saved.packets += recorded.len() as u64;
        saved.forgotten += forgotten;
        packets.extend(recorded.into_iter().map(|packet| (direction, packet)));
    }
    packets.sort_by_key(|(_, packet)| packet.at_ns);

    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = Path::new(&name);
    let result = write(part, &packets).and_then(|()| std::fs::rename(part, path));
    if result.is_err() {
        let _ = std::fs::remove_file(part);
    }
    result.map(|()| saved)
}

fn write(path: &Path, packets: &[(u32, Recorded)]) -> io::Result<()> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    let mut writer = PcapNgWriter::new(BufWriter::new(file)).map_err(to_io)?;
    for name in ["a to b", "b to a"] {
        put(
            &mut writer,
            InterfaceDescriptionBlock {
                linktype: DataLink::ETHERNET,
                snaplen: 0,
                options: vec![
                    InterfaceDescriptionOption::IfName(name.into()),
                    InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
                ],
            },
        )?;
    }
    for (direction, packet) in packets {
        put(
            &mut writer,
            EnhancedPacketBlock {
                interface_id: *direction,
                timestamp: Duration::from_nanos(packet.at_ns),
                original_len: packet.length,
                data: packet.bytes.as_slice().into(),
                options: vec![EnhancedPacketOption::Flags(INBOUND)],
            },
        )?;
    }
    writer.get_mut().flush()
}

fn put<'a>(
    writer: &mut PcapNgWriter<BufWriter<File>>,
    block: impl PcapNgBlock<'a>,
) -> io::Result<()> {
    writer.write_pcapng_block(block).map(drop).map_err(to_io)
}

fn to_io(error: pcap_file::PcapError) -> io::Error {
    match error {
        pcap_file::PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn limits(ring_bytes: usize, packet_bytes: usize) -> Limits {
        Limits {
            ring_bytes,
            packet_bytes,
        }
    }

    proptest! {
        #[test]
        fn the_newest_stay_within_the_limit(
            packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..100),
            ring_bytes in 0..2000usize, packet_bytes in 1..300usize,
        ) {
            let mut ring = Ring { limits: Some(limits(ring_bytes, packet_bytes)), ..Ring::default() };
            for (at_ns, packet) in (0u64..).zip(&packets) {
                ring.push(at_ns, packet);
                prop_assert!(ring.bytes.len() <= ring_bytes);
            }
            let read = ring.read();
            prop_assert_eq!(read.len() as u64 + ring.forgotten, packets.len() as u64);
            prop_assert_eq!(ring.packets, read.len() as u64);
            for packet in &read {
                let sent = &packets[packet.at_ns as usize];
                prop_assert_eq!(&packet.bytes[..], &sent[..sent.len().min(packet_bytes)]);
                prop_assert_eq!(packet.length as usize, sent.len());
            }
            prop_assert!(read.windows(2).all(|pair| pair[0].at_ns < pair[1].at_ns));
        }
    }

    #[test]
    fn a_file_has_both_directions_by_time_to_the_nanosecond() {
        let (one, other) = (Tape::default(), Tape::default());
        for tape in [&one, &other] {
            tape.start(limits(10_000, 4));
        }
        one.ring().push(1_700_000_000_123_456_789, &[1; 60]);
        one.ring().push(1_700_000_000_123_456_791, &[2; 60]);
        other.ring().push(1_700_000_000_123_456_790, &[3; 3]);
        let path = std::env::temp_dir().join(format!("culvert-tape-{}", std::process::id()));
        let saved = save([&one, &other], &path).expect("it can be written");
        assert_eq!(
            saved,
            Saved {
                packets: 3,
                forgotten: 0
            }
        );

        let file = File::open(&path).expect("a file");
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&file.metadata().expect("it").permissions());
        assert_eq!(mode & 0o777, 0o600);
        let mut reader = pcap_file::pcapng::PcapNgReader::new(file).expect("pcapng");
        let mut seen = Vec::new();
        while let Some(block) = reader.next_block() {
            if let pcap_file::pcapng::Block::EnhancedPacket(packet) = block.expect("a block") {
                let at_ns = packet.timestamp.as_nanos() as u64 % 1_000_000_000;
                seen.push((
                    packet.interface_id,
                    at_ns,
                    packet.original_len,
                    packet.data.to_vec(),
                ));
            }
        }
        std::fs::remove_file(&path).expect("it is there");
        assert_eq!(
            seen,
            [
                (0, 123_456_789, 60, vec![1; 4]),
                (1, 123_456_790, 3, vec![3; 3]),
                (0, 123_456_791, 60, vec![2; 4]),
            ]
        );
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_nothing() {
        let tape = Tape::default();
        assert!(save([&tape, &tape], Path::new("/proc/none/x.pcapng")).is_err());
    }
}
