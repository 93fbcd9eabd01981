//! Where an end of a cable goes: `NETNS_PATH:DEVICE`.

use std::path::PathBuf;
use std::str::FromStr;

/// IFNAMSIZ without the closing zero.
const LONGEST_NAME: usize = 15;

/// A device that is to be made in a network namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// A namespace that is held by a file: /run/netns/NAME or /proc/PID/ns/net.
    pub netns: PathBuf,
    pub device: DeviceName,
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (netns, device) = text
            .rsplit_once(':')
            .ok_or("an end of a cable is NETNS_PATH:DEVICE, such as /run/netns/a:u0")?;
        if !netns.starts_with('/') {
            return Err(format!("the namespace {netns:?} is no absolute path"));
        }
        Ok(Self {
            netns: PathBuf::from(netns),
            device: device.parse()?,
        })
    }
}

/// A name that the kernel takes for an interface as it is (dev_valid_name, and no pattern).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceName(String);

impl DeviceName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for DeviceName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let allowed = |c: char| c.is_ascii_graphic() && !matches!(c, '/' | ':' | '%');
        if text.is_empty() || text.len() > LONGEST_NAME {
            return Err(format!(
                "a device name has 1 to {LONGEST_NAME} characters, not {text:?}"
            ));
        }
        if matches!(text, "." | "..") || !text.chars().all(allowed) {
            return Err(format!(
                "{text:?} is no device name: no spaces, '/', ':' or '%'"
            ));
        }
        Ok(Self(text.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ends() {
        let end: Endpoint = "/run/netns/culvert-x-a:u0".parse().expect("an end");
        assert_eq!(end.netns, PathBuf::from("/run/netns/culvert-x-a"));
        assert_eq!(end.device.as_str(), "u0");
        let end: Endpoint = "/odd:path:u0".parse().expect("the last colon counts");
        assert_eq!(end.netns, PathBuf::from("/odd:path"));
    }

    #[test]
    fn what_is_no_end() {
        for text in [
            "",
            ":",
            "/x",
            "/x:",
            "x:u0",
            ":u0",
            "/x:a b",
            "/x:a/b",
            "/x:.",
            "/x:..",
            "/x:tap%d",
            "/x:sixteen-letters-",
            "/x:u\0",
            "/x:ü",
        ] {
            assert!(text.parse::<Endpoint>().is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            if let Ok(end) = text.parse::<Endpoint>() {
                prop_assert_eq!(format!("{}:{}", end.netns.display(), end.device.as_str()), text);
            }
        }
    }
}
