//! The ends of a packet inside the tunnel: its header in clear text has them one behind the other.

use std::net::IpAddr;

/// Source and destination in a row, of each two different addresses of one version: 8 bytes, which
/// random ones are with a probability of 2^-64.
#[derive(Debug, Clone)]
pub struct Ends(Vec<Vec<u8>>);

impl Ends {
    pub fn new(addresses: &[IpAddr]) -> Ends {
        let pairs = addresses
            .iter()
            .flat_map(|one| addresses.iter().map(move |other| (one, other)));
        Ends(
            pairs
                .filter(|(one, other)| one != other && one.is_ipv4() == other.is_ipv4())
                .map(|(one, other)| [octets(*one), octets(*other)].concat())
                .collect(),
        )
    }

    /// Whether two of them are anywhere in these bytes.
    pub fn are_in(&self, bytes: &[u8]) -> bool {
        self.0.iter().any(|pair| {
            let first = pair.first_chunk::<8>();
            // Eight bytes are one comparison.
            bytes.windows(8).enumerate().any(|(at, window)| {
                <&[u8; 8]>::try_from(window).ok() == first && bytes[at..].starts_with(pair)
            })
        })
    }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_inner_header_is_found_wherever_it_is(
            before in prop::collection::vec(any::<u8>(), 0..100), six: bool, back: bool,
        ) {
            let mut packet = before;
            let (a, b) = if back { (2, 1) } else { (1, 2) };
            if six {
                PacketBuilder::ipv6([a; 16], [b; 16], 64).udp(1, 2).write(&mut packet, &[]).unwrap();
            } else {
                PacketBuilder::ipv4([a; 4], [b; 4], 64).udp(1, 2).write(&mut packet, &[]).unwrap();
            }
            let ends = Ends::new(&[
                [1; 4].into(), [2; 4].into(), [1_u8; 16].into(), [2_u8; 16].into(),
            ]);
            prop_assert!(ends.are_in(&packet));
            prop_assert!(!ends.are_in(&packet[..packet.len() - 16]) || six);
            prop_assert!(!Ends::new(&[[1; 4].into()]).are_in(&packet));
        }

        #[test]
        fn other_bytes_have_none(bytes: Vec<u8>) {
            let ends = Ends::new(&[[10, 0, 0, 1].into(), [10, 0, 0, 2].into()]);
            prop_assert!(!ends.are_in(&bytes));
            prop_assert!(!Ends::new(&[]).are_in(&bytes));
        }
    }
}
