//! What a TCP connection announces in its first packets. Whatever the bytes are, reading them does
//! no harm.

use etherparse::{TcpOptionElement, TcpSlice};

/// The MSS option of a SYN or SYN-ACK (RFC 9293, 3.7.1), of bytes from the TCP header on.
pub fn announced_mss(behind_ip: &[u8]) -> Option<u16> {
    let header = TcpSlice::from_slice(behind_ip).ok()?;
    if !header.syn() {
        return None;
    }
    header.options_iterator().find_map(|option| match option {
        Ok(TcpOptionElement::MaximumSegmentSize(mss)) => Some(mss),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A header with a window scale and an MSS of 1368.
    fn segment(flags: u8) -> Vec<u8> {
        let mut bytes = vec![0; 20];
        bytes[12] = 7 << 4;
        bytes[13] = flags;
        bytes.extend([1, 3, 3, 7, 2, 4, 0x05, 0x58]);
        bytes
    }

    #[test]
    fn a_syn_tells_and_a_later_segment_does_not() {
        assert_eq!(announced_mss(&segment(0x02)), Some(1368));
        assert_eq!(announced_mss(&segment(0x12)), Some(1368));
        assert_eq!(announced_mss(&segment(0x10)), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(mut bytes: Vec<u8>) {
            announced_mss(&bytes);
            if let Some(flags) = bytes.get_mut(13) {
                *flags |= 0x02;
            }
            announced_mss(&bytes);
        }
    }
}
