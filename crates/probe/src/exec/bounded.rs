//! Only the capabilities that a program needs.
//!
//! The program of a user with id 0 gets its capabilities from the bounding set and its inheritable
//! set when it is executed (capabilities(7)): both are narrowed before, and no child can widen them.

use super::Failure;
use nix::errno::Errno;

/// Capability numbers (linux/capability.h).
#[derive(Clone, Debug, PartialEq)]
pub struct Capabilities(Vec<u8>);

/// `_LINUX_CAPABILITY_VERSION_3`: 64 capabilities, as two halves.
const VERSION_3: u32 = 0x2008_0522;
const MOST: u8 = 64;

#[repr(C)]
struct Header {
    version: u32,
    pid: libc::c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Half {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Narrow the calling thread's bounding set to `kept`, and empty its inheritable and ambient sets.
pub fn keep(kept: &Capabilities) -> Result<(), Failure> {
    let failed = |errno| Failure::new("fewer capabilities", errno);
    for number in (0..MOST).filter(|number| !kept.0.contains(number)) {
        // SAFETY: takes a number and no pointer.
        match unsafe { libc::prctl(libc::PR_CAPBSET_READ, libc::c_ulong::from(number)) } {
            1 => {}
            0 => continue,
            _ => break, // this kernel has no more
        }
        // SAFETY: as above.
        let dropped = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(number)) };
        Errno::result(dropped).map_err(failed)?;
    }
    inherit_nothing().map_err(failed)
}

/// The kernel removes from the ambient set what is not inheritable.
fn inherit_nothing() -> nix::Result<()> {
    let mut header = Header {
        version: VERSION_3,
        pid: 0,
    };
    let mut halves = [Half::default(); 2];
    // SAFETY: both have the layout of capget(2) and live until it returns.
    Errno::result(unsafe {
        libc::syscall(libc::SYS_capget, &raw mut header, halves.as_mut_ptr())
    })?;
    for half in &mut halves {
        half.inheritable = 0;
    }
    // SAFETY: as above.
    Errno::result(unsafe { libc::syscall(libc::SYS_capset, &raw mut header, halves.as_ptr()) })
        .map(drop)
}

/// Numbers separated by commas; an empty text keeps none.
pub fn parse_capabilities(text: &str) -> Result<Capabilities, String> {
    let words = text.split(',').filter(|_| !text.is_empty());
    words
        .map(|word| match word.trim().parse::<u8>() {
            Ok(number) if number < MOST => Ok(number),
            _ => Err(format!("'{word}' is not the number of a capability")),
        })
        .collect::<Result<_, _>>()
        .map(Capabilities)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_numbers() {
        assert_eq!(
            parse_capabilities("12,13").unwrap(),
            Capabilities(vec![12, 13])
        );
        assert_eq!(parse_capabilities("").unwrap(), Capabilities(vec![]));
        for wrong in ["a", "64", "-1", "1,,2", "net_admin"] {
            assert!(parse_capabilities(wrong).is_err(), "{wrong}");
        }
    }
}
