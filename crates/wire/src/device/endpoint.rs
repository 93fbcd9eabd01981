//! The device of a cable's end: `NETNS:DEVICE`.

use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The directory of `ip netns`.
const NAMED: &str = "/run/netns";

/// IFNAMSIZ without the closing zero.
const LONGEST_NAME: usize = 15;

/// A device to create in a network namespace.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct Endpoint {
    /// A namespace that is held by a file: /run/netns/NAME or /proc/PID/ns/net.
    pub netns: PathBuf,
    pub device: DeviceName,
}

impl TryFrom<String> for Endpoint {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (netns, device) = text
            .rsplit_once(':')
            .ok_or("an end of a cable is NETNS:DEVICE, such as a:u0 or /run/netns/a:u0")?;
        Ok(Self {
            netns: namespace(netns)?,
            device: device.parse()?,
        })
    }
}

/// An absolute path, or a name as `ip netns` has it.
fn namespace(text: &str) -> Result<PathBuf, String> {
    if text.starts_with('/') {
        return Ok(PathBuf::from(text));
    }
    if text.is_empty() || text.contains(['/', '\0']) || matches!(text, "." | "..") {
        return Err(format!(
            "{text:?} is no namespace: no absolute path, no name"
        ));
    }
    Ok(Path::new(NAMED).join(text))
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
        let end: Endpoint = "a:u0".parse().expect("a name");
        assert_eq!(end.netns, PathBuf::from("/run/netns/a"));
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
            "x/y:u0",
            "..:u0",
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
                let written = format!("{}:{}", end.netns.display(), end.device.as_str());
                prop_assert!(written.ends_with(&text), "{}", written);
            }
        }
    }
}
