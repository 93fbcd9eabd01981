//! The kernel's metadata of a packet: struct virtio_net_hdr, little endian.
//!
//! Source: include/uapi/linux/virtio_net.h, and the virtio 1.2 specification, section 5.1.6.

pub const BYTES: usize = 10;

const NEEDS_CSUM: u8 = 1;
const DATA_VALID: u8 = 2;
const ECN: u8 = 0x80;

/// Which packets a super-packet stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segmentation {
    TcpV4,
    TcpV6,
    Udp,
}

/// A checksum that the device is to fill in: over all from `start`, at `start + offset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unfinished {
    pub start: u16,
    pub offset: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SuperPacket {
    pub segmentation: Segmentation,
    /// Bytes of TCP or UDP payload in each packet but the last.
    pub segment_bytes: u16,
    pub header_bytes: u16,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Vnet {
    pub checksum: Option<Unfinished>,
    /// The kernel has verified the checksum.
    pub valid: bool,
    pub super_packet: Option<SuperPacket>,
}

impl Vnet {
    /// None for a kind of super-packet that was never offered to the kernel.
    pub fn read(bytes: &[u8; BYTES]) -> Option<Self> {
        let word = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let segmentation = match bytes[1] & !ECN {
            0 => None,
            1 => Some(Segmentation::TcpV4),
            4 => Some(Segmentation::TcpV6),
            5 => Some(Segmentation::Udp),
            _ => return None,
        };
        Some(Self {
            checksum: (bytes[0] & NEEDS_CSUM != 0).then(|| Unfinished {
                start: word(6),
                offset: word(8),
            }),
            valid: bytes[0] & DATA_VALID != 0,
            super_packet: segmentation.map(|segmentation| SuperPacket {
                segmentation,
                segment_bytes: word(4),
                header_bytes: word(2),
            }),
        })
    }

    pub fn write(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        let mut word = |at: usize, value: u16| {
            bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
        };
        if let Some(checksum) = self.checksum {
            word(6, checksum.start);
            word(8, checksum.offset);
        }
        if let Some(packet) = self.super_packet {
            word(2, packet.header_bytes);
            word(4, packet.segment_bytes);
        }
        bytes[0] = if self.checksum.is_some() {
            NEEDS_CSUM
        } else {
            0
        };
        bytes[0] |= if self.valid { DATA_VALID } else { 0 };
        bytes[1] = match self.super_packet.map(|packet| packet.segmentation) {
            None => 0,
            Some(Segmentation::TcpV4) => 1,
            Some(Segmentation::TcpV6) => 4,
            Some(Segmentation::Udp) => 5,
        };
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_bytes_panic_and_what_is_understood_comes_back(bytes: [u8; BYTES]) {
            if let Some(header) = Vnet::read(&bytes) {
                prop_assert_eq!(Vnet::read(&header.write()), Some(header));
            }
        }
    }
}
