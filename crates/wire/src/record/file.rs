//! The pcapng file that a recording is saved to.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::interface_statistics::{
    InterfaceStatisticsBlock, InterfaceStatisticsOption,
};
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};

use super::ring::Recorded;
use super::{Point, Saved};

/// if_tsresol (pcapng, section 4.2): times are in 10^-9 seconds.
const NANOSECONDS: u8 = 9;
/// epb_flags (pcapng, section 4.3): what a node received, and what it sent.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// One place where packets were recorded: an interface of the file.
pub struct Interface {
    pub name: String,
    pub point: Point,
    pub packets: Vec<Recorded>,
    pub forgotten: u64,
    /// Packets that were searched for marks; None if not all that have passed.
    pub searched: Option<u64>,
}

/// Save the packets of all interfaces by time.
///
/// The file appears whole or not at all, and only its owner can read it: packets are in it.
pub fn save(interfaces: &[Interface], path: &Path) -> io::Result<Saved> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = Path::new(&name);
    let result = write(part, interfaces).and_then(|()| std::fs::rename(part, path));
    if result.is_err() {
        let _ = std::fs::remove_file(part);
    }
    result.map(|()| Saved {
        packets: interfaces.iter().map(|one| one.packets.len() as u64).sum(),
        forgotten: interfaces.iter().map(|one| one.forgotten).sum(),
    })
}

fn write(path: &Path, interfaces: &[Interface]) -> io::Result<()> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    let mut writer = PcapNgWriter::new(BufWriter::new(file)).map_err(to_io)?;
    for interface in interfaces {
        put(
            &mut writer,
            InterfaceDescriptionBlock {
                linktype: DataLink::ETHERNET,
                snaplen: 0,
                options: vec![
                    InterfaceDescriptionOption::IfName(interface.name.as_str().into()),
                    InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
                ],
            },
        )?;
    }
    let mut packets: Vec<(u32, &Recorded)> = (0..)
        .zip(interfaces)
        .flat_map(|(number, interface)| interface.packets.iter().map(move |one| (number, one)))
        .collect();
    packets.sort_by_key(|(_, packet)| packet.at_ns);
    for (number, packet) in packets {
        let flags = match interfaces[number as usize].point {
            Point::Sent => OUTBOUND,
            _ => INBOUND,
        };
        put(
            &mut writer,
            EnhancedPacketBlock {
                interface_id: number,
                timestamp: Duration::from_nanos(packet.at_ns),
                original_len: packet.length,
                data: packet.bytes.as_slice().into(),
                options: vec![EnhancedPacketOption::Flags(flags)],
            },
        )?;
    }
    for (number, interface) in (0..).zip(interfaces) {
        let mut statistics = vec![InterfaceStatisticsOption::IsbIfDrop(interface.forgotten)];
        statistics.extend(interface.searched.map(InterfaceStatisticsOption::IsbIfRecv));
        put(
            &mut writer,
            InterfaceStatisticsBlock {
                interface_id: number,
                timestamp: interface.packets.last().map_or(0, |last| last.at_ns),
                options: statistics,
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
    use pcap_file::pcapng::{Block, PcapNgReader};

    fn packet(at_ns: u64, byte: u8, length: u32, kept: usize) -> Recorded {
        Recorded {
            at_ns,
            length,
            bytes: vec![byte; kept],
        }
    }

    fn flags_of(options: &[EnhancedPacketOption]) -> Option<u32> {
        match options {
            [EnhancedPacketOption::Flags(flags)] => Some(*flags),
            _ => None,
        }
    }

    #[test]
    fn a_file_has_all_interfaces_by_time_to_the_nanosecond() {
        let interfaces = [
            Interface {
                name: "a to b, sent".to_string(),
                point: Point::Sent,
                packets: vec![
                    packet(1_700_000_000_123_456_789, 1, 60, 4),
                    packet(1_700_000_000_123_456_791, 2, 60, 4),
                ],
                forgotten: 7,
                searched: Some(9),
            },
            Interface {
                name: "b to a".to_string(),
                point: Point::Delivered,
                packets: vec![packet(1_700_000_000_123_456_790, 3, 3, 3)],
                forgotten: 0,
                searched: None,
            },
        ];
        let path = std::env::temp_dir().join(format!("culvert-tape-{}", std::process::id()));
        let saved = save(&interfaces, &path).expect("it can be written");
        assert_eq!((saved.packets, saved.forgotten), (3, 7));

        let file = File::open(&path).expect("a file");
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&file.metadata().expect("it").permissions());
        assert_eq!(mode & 0o777, 0o600);
        let mut reader = PcapNgReader::new(file).expect("pcapng");
        let (mut seen, mut statistics) = (Vec::new(), Vec::new());
        while let Some(block) = reader.next_block() {
            match block.expect("a block") {
                Block::EnhancedPacket(packet) => seen.push((
                    packet.interface_id,
                    packet.timestamp.as_nanos() as u64 % 1_000_000_000,
                    packet.original_len,
                    packet.data.to_vec(),
                    flags_of(&packet.options),
                )),
                Block::InterfaceStatistics(block) => {
                    statistics.extend(block.options.iter().filter_map(|option| match option {
                        InterfaceStatisticsOption::IsbIfDrop(packets) => Some(("drops", *packets)),
                        InterfaceStatisticsOption::IsbIfRecv(packets) => {
                            Some(("searched", *packets))
                        }
                        _ => None,
                    }));
                }
                _ => {}
            }
        }
        std::fs::remove_file(&path).expect("it is there");
        assert_eq!(
            seen,
            [
                (0, 123_456_789, 60, vec![1; 4], Some(OUTBOUND)),
                (1, 123_456_790, 3, vec![3; 3], Some(INBOUND)),
                (0, 123_456_791, 60, vec![2; 4], Some(OUTBOUND)),
            ]
        );
        assert_eq!(statistics, [("drops", 7), ("searched", 9), ("drops", 0)]);
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_nothing() {
        assert!(save(&[], Path::new("/proc/none/x.pcapng")).is_err());
    }
}
