//! Features of interfaces (`<linux/ethtool.h>`), as printed by `ethtool --show-features`.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

const SIOCETHTOOL: libc::Ioctl = 0x8946;
const GET_STRING_SET_INFO: u32 = 0x37;
const GET_STRINGS: u32 = 0x1b;
const GET_FEATURES: u32 = 0x3a;
const FEATURE_NAMES: u32 = 4;
const NAME_LENGTH: usize = 32;
/// Words of `struct ethtool_get_features_block`; the third holds the active features.
const BLOCK_WORDS: usize = 4;
const ACTIVE: usize = 2;

/// Whether a feature of a device is on; None if the kernel has no feature of that name.
pub fn feature(device: &str, name: &str) -> io::Result<Option<bool>> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let count = feature_count(&socket, device)?;
    let mut names = request(
        3 + count * NAME_LENGTH / 4,
        &[GET_STRINGS, FEATURE_NAMES, count as u32],
    );
    command(&socket, device, &mut names)?;
    let names: Vec<u8> = names[3..]
        .iter()
        .flat_map(|word| word.to_ne_bytes())
        .collect();
    let Some(index) = names.chunks(NAME_LENGTH).position(|text| is(text, name)) else {
        return Ok(None);
    };
    let blocks = count.div_ceil(32);
    let mut features = request(2 + blocks * BLOCK_WORDS, &[GET_FEATURES, blocks as u32]);
    command(&socket, device, &mut features)?;
    let word = features[2 + index / 32 * BLOCK_WORDS + ACTIVE];
    Ok(Some(word >> (index % 32) & 1 == 1))
}

fn feature_count(socket: &UdpSocket, device: &str) -> io::Result<usize> {
    // The command, a reserved word, a mask of 64 bits, and a word for each bit set.
    let mut info = request(5, &[GET_STRING_SET_INFO, 0]);
    let mask = (1_u64 << FEATURE_NAMES).to_ne_bytes();
    info[2] = u32::from_ne_bytes([mask[0], mask[1], mask[2], mask[3]]);
    info[3] = u32::from_ne_bytes([mask[4], mask[5], mask[6], mask[7]]);
    command(socket, device, &mut info)?;
    Ok(info[4] as usize)
}

fn request(words: usize, first: &[u32]) -> Vec<u32> {
    let mut request = first.to_vec();
    request.resize(words, 0);
    request
}

fn is(text: &[u8], name: &str) -> bool {
    let end = text.iter().position(|&byte| byte == 0);
    &text[..end.unwrap_or(text.len())] == name.as_bytes()
}

/// The kernel reads the command from `request` and writes its answer over it, for which there is room.
fn command(socket: &UdpSocket, device: &str, request: &mut [u32]) -> io::Result<()> {
    // SAFETY: all zero is a valid ifreq.
    let mut interface: libc::ifreq = unsafe { std::mem::zeroed() };
    if device.len() >= interface.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (to, from) in interface.ifr_name.iter_mut().zip(device.bytes()) {
        *to = from as libc::c_char;
    }
    interface.ifr_ifru.ifru_data = request.as_mut_ptr().cast();
    // SAFETY: `interface` points to `request`, which has room for the answer: one word for a set's
    // size; for names and features as many as that size, which is the kernel's own and never changes.
    let outcome = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut interface) };
    if outcome == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::feature;

    #[test]
    fn the_loopback_has_features() {
        assert_eq!(feature("lo", "loopback").unwrap(), Some(true));
        assert_eq!(feature("lo", "hw-tc-offload").unwrap(), Some(false));
        assert_eq!(feature("lo", "antigravity").unwrap(), None);
        assert!(feature("nonesuch", "loopback").is_err());
    }
}
