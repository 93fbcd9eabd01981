//! Recordings: pcapng files, as far as a capture looks at them (draft-ietf-opsawg-pcapng). Whatever
//! the bytes are, reading them does no harm.

use std::io::{self, Read};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const STATISTICS: u32 = 5;
const PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const ETHERNET: u16 = 1;

const END_OF_OPTIONS: u16 = 0;
const IF_TSRESOL: u16 = 9;
const EPB_FLAGS: u16 = 2;
const ISB_IFRECV: u16 = 4;
const ISB_IFDROP: u16 = 5;
/// The lowest two bits of the flags: 1 is inbound, 2 outbound.
const DIRECTION: u32 = 3;
const OUTBOUND: u32 = 2;

/// Type and length in front of a block, and the length again behind it.
const FRAME_BYTES: usize = 12;
/// No packet of a wire needs more.
const LONGEST_BLOCK_BYTES: usize = 1 << 20;
const MICROSECONDS: u8 = 6;

/// A packet of a recording, from its Ethernet header on, as far as it was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// None if it is out of range.
    pub realtime_ns: Option<u64>,
    pub outgoing: bool,
    pub wire_length: usize,
    pub bytes: &'a [u8],
}

#[derive(Debug, thiserror::Error)]
pub enum Broken {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("it is no pcapng file")]
    NotPcapng,
    #[error("a block of {0} bytes")]
    Block(usize),
    #[error("a block ends before what it holds does")]
    Short,
    #[error("a packet of interface {0}, which is not described")]
    Interface(u32),
    #[error("link type {0}, where 1 (Ethernet) is understood")]
    LinkType(u16),
}

pub struct Reader<R> {
    source: R,
    block: Vec<u8>,
    /// A section header was read.
    begun: bool,
    big_endian: bool,
    /// if_tsresol of each interface of the section.
    resolutions: Vec<u8>,
    drops: u64,
    passed: Option<u64>,
}

impl<R: Read> Reader<R> {
    pub fn new(source: R) -> Reader<R> {
        Reader {
            source,
            block: Vec::new(),
            begun: false,
            big_endian: false,
            resolutions: Vec::new(),
            drops: 0,
            passed: None,
        }
    }

    /// Packets that the recording lost, as far as it was read.
    pub fn drops(&self) -> u64 {
        self.drops
    }

    /// Packets that passed, recorded or not, as far as the recording was read; None if it does not
    /// state them.
    pub fn passed(&self) -> Option<u64> {
        self.passed
    }

    /// The next packet; None at the end.
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, Broken> {
        loop {
            match self.next_block()? {
                None => return Ok(None),
                Some(PACKET) => break,
                Some(INTERFACE) => self.describe()?,
                Some(STATISTICS) => self.add_statistics(),
                Some(_) => {}
            }
        }
        self.packet().map(Some)
    }

    /// Reads the body of a block, returns its type; None at the end.
    fn next_block(&mut self) -> Result<Option<u32>, Broken> {
        let mut head = [0; 8];
        if !fill(&mut self.source, &mut head)? {
            return Ok(None);
        }
        let [kind, length] = [0, 4].map(|at| head[at..].first_chunk().copied().unwrap_or_default());
        let is_section = u32::from_le_bytes(kind) == SECTION;
        let mut read = 0;
        self.block.clear();
        if is_section {
            // Its byte order stands behind the length, which is in that order.
            let mut magic = [0; 4];
            self.source.read_exact(&mut magic).map_err(cut_off)?;
            self.big_endian = u32::from_be_bytes(magic) == BYTE_ORDER;
            if !self.big_endian && u32::from_le_bytes(magic) != BYTE_ORDER {
                return Err(Broken::NotPcapng);
            }
            self.resolutions.clear();
            read = magic.len();
        } else if !self.begun {
            return Err(Broken::NotPcapng);
        }
        self.begun = true;
        let length = self.word(length) as usize;
        let least = FRAME_BYTES + read;
        if !(least..=LONGEST_BLOCK_BYTES).contains(&length) || !length.is_multiple_of(4) {
            return Err(Broken::Block(length));
        }
        self.block.resize(length - 8 - read, 0);
        self.source.read_exact(&mut self.block).map_err(cut_off)?;
        self.block.truncate(length - FRAME_BYTES - read);
        Ok(Some(if is_section { SECTION } else { self.word(kind) }))
    }

    fn describe(&mut self) -> Result<(), Broken> {
        let link_type = self.half(at(&self.block, 0)?);
        if link_type != ETHERNET {
            return Err(Broken::LinkType(link_type));
        }
        let resolution = self.option(8, IF_TSRESOL).and_then(<[u8]>::first);
        self.resolutions
            .push(resolution.copied().unwrap_or(MICROSECONDS));
        Ok(())
    }

    fn add_statistics(&mut self) {
        if let Some(dropped) = self.statistic(ISB_IFDROP) {
            self.drops = self.drops.saturating_add(dropped);
        }
        if let Some(passed) = self.statistic(ISB_IFRECV) {
            self.passed = Some(self.passed.unwrap_or(0).saturating_add(passed));
        }
    }

    fn statistic(&self, code: u16) -> Option<u64> {
        let value = self.option(12, code).and_then(<[u8]>::first_chunk)?;
        Some(match self.big_endian {
            true => u64::from_be_bytes(*value),
            false => u64::from_le_bytes(*value),
        })
    }

    fn packet(&self) -> Result<Packet<'_>, Broken> {
        let field = |start| at(&self.block, start).map(|bytes| self.word(bytes));
        let interface = field(0)?;
        let resolution = self.resolutions.get(interface as usize);
        let resolution = *resolution.ok_or(Broken::Interface(interface))?;
        let units = u64::from(field(4)?) << 32 | u64::from(field(8)?);
        let kept = field(12)? as usize;
        let bytes = kept
            .checked_add(20)
            .and_then(|end| self.block.get(20..end))
            .ok_or(Broken::Short)?;
        let flags = self
            .option(20 + kept.next_multiple_of(4), EPB_FLAGS)
            .and_then(<[u8]>::first_chunk)
            .map_or(0, |bytes| self.word(*bytes));
        Ok(Packet {
            realtime_ns: nanoseconds(units, resolution),
            outgoing: flags & DIRECTION == OUTBOUND,
            wire_length: field(16)? as usize,
            bytes,
        })
    }

    /// The value of an option of the block, whose options start at `start`.
    fn option(&self, start: usize, wanted: u16) -> Option<&[u8]> {
        let mut rest = self.block.get(start..)?;
        loop {
            let code = self.half(*rest.first_chunk()?);
            let length = usize::from(self.half(*rest.get(2..)?.first_chunk()?));
            let value = rest.get(4..4 + length)?;
            if code == wanted {
                return Some(value);
            }
            if code == END_OF_OPTIONS {
                return None;
            }
            rest = rest.get(4 + length.next_multiple_of(4)..)?;
        }
    }

    fn word(&self, bytes: [u8; 4]) -> u32 {
        match self.big_endian {
            true => u32::from_be_bytes(bytes),
            false => u32::from_le_bytes(bytes),
        }
    }

    fn half(&self, bytes: [u8; 2]) -> u16 {
        match self.big_endian {
            true => u16::from_be_bytes(bytes),
            false => u16::from_le_bytes(bytes),
        }
    }
}

fn at<const N: usize>(block: &[u8], start: usize) -> Result<[u8; N], Broken> {
    let field = block.get(start..).and_then(<[u8]>::first_chunk);
    field.copied().ok_or(Broken::Short)
}

/// Whether there was anything to read; the end within is an error.
fn fill(source: &mut impl Read, into: &mut [u8]) -> Result<bool, Broken> {
    let (first, rest) = into.split_at_mut(1);
    loop {
        match source.read(first) {
            Ok(0) => return Ok(false),
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    source.read_exact(rest).map_err(cut_off)?;
    Ok(true)
}

fn cut_off(error: io::Error) -> Broken {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Broken::Short,
        _ => error.into(),
    }
}

/// The highest bit of a resolution distinguishes powers of two from powers of ten.
fn nanoseconds(units: u64, resolution: u8) -> Option<u64> {
    let exponent = u32::from(resolution & 0x7f);
    let in_a_second = match resolution & 0x80 {
        0 => 10_u128.checked_pow(exponent)?,
        _ => 1_u128.checked_shl(exponent)?,
    };
    u64::try_from(u128::from(units) * 1_000_000_000 / in_a_second).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block(kind: u32, body: &[u8]) -> Vec<u8> {
        let length = (FRAME_BYTES + body.len()) as u32;
        let parts = [
            &kind.to_le_bytes(),
            &length.to_le_bytes(),
            body,
            &length.to_le_bytes(),
        ];
        parts.concat()
    }

    fn option(code: u16, value: &[u8]) -> Vec<u8> {
        let mut written = [code.to_le_bytes(), (value.len() as u16).to_le_bytes()].concat();
        written.extend(value);
        written.resize(written.len().next_multiple_of(4), 0);
        written
    }

    fn file(packets: &[(u64, bool, Vec<u8>)]) -> Vec<u8> {
        let mut file = block(
            SECTION,
            &[
                0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255,
            ],
        );
        let described = [
            vec![1, 0, 0, 0, 0, 0, 0, 0],
            option(2, b"name"),
            option(IF_TSRESOL, &[9]),
        ];
        file.extend(block(INTERFACE, &described.concat()));
        for (at_ns, outgoing, bytes) in packets {
            let words = [
                0,
                (at_ns >> 32) as u32,
                *at_ns as u32,
                bytes.len() as u32,
                1500,
            ];
            let mut body: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            body.extend(bytes);
            body.resize(body.len().next_multiple_of(4), 0);
            let flags = 1 + u32::from(*outgoing);
            body.extend(option(1, b"a comment"));
            body.extend(option(EPB_FLAGS, &flags.to_le_bytes()));
            file.extend(block(PACKET, &body));
        }
        let statistics = [
            vec![0; 12],
            option(ISB_IFRECV, &9_u64.to_le_bytes()),
            option(ISB_IFDROP, &7_u64.to_le_bytes()),
        ];
        file.extend(block(STATISTICS, &statistics.concat()));
        file
    }

    /// Packets (time, whether outgoing, bytes), how many were dropped, and how many passed.
    type Read = (Vec<(u64, bool, Vec<u8>)>, u64, Option<u64>);

    fn read(bytes: &[u8]) -> Result<Read, Broken> {
        let mut reader = Reader::new(bytes);
        let mut packets = Vec::new();
        while let Some(packet) = reader.next_packet()? {
            let at_ns = packet.realtime_ns.unwrap_or_default();
            packets.push((at_ns, packet.outgoing, packet.bytes.to_vec()));
        }
        Ok((packets, reader.drops(), reader.passed()))
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(
            packets in prop::collection::vec((any::<u64>(), any::<bool>(), prop::collection::vec(any::<u8>(), 0..100)), 0..20),
        ) {
            prop_assert_eq!(read(&file(&packets)).unwrap(), (packets, 7, Some(9)));
        }

        #[test]
        fn any_change_and_cut_is_survived(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..5), cut: prop::sample::Index,
        ) {
            let mut bytes = file(&[(5, true, vec![1; 30]), (6, false, vec![2; 61])]);
            for (index, byte) in changes {
                let index = index.index(bytes.len());
                bytes[index] = byte;
            }
            let _ = read(&bytes[..cut.index(bytes.len() + 1)]);
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes: Vec<u8>) {
            let _ = read(&bytes);
            let mut section = file(&[]);
            section.extend(&bytes);
            let _ = read(&section);
        }
    }

    #[test]
    fn what_is_cut_off_is_no_end() {
        let whole = file(&[(5, true, vec![1; 30])]);
        assert!(matches!(
            read(&whole[..whole.len() - 1]),
            Err(Broken::Short)
        ));
        assert!(matches!(
            read(b"no recording at all"),
            Err(Broken::NotPcapng)
        ));
        assert!(matches!(
            read(&block(PACKET, &[0; 20])),
            Err(Broken::NotPcapng)
        ));
    }

    #[test]
    fn times_of_any_resolution() {
        assert_eq!(nanoseconds(5, 6), Some(5_000));
        assert_eq!(nanoseconds(5, 9), Some(5));
        assert_eq!(nanoseconds(1 << 20, 0x80 | 20), Some(1_000_000_000));
        assert_eq!(nanoseconds(u64::MAX, 0), None);
        assert_eq!(nanoseconds(1, 0x7f), None);
        assert_eq!(nanoseconds(1, 0xff), Some(0));
    }
}
