//! The error type of the probe: the thing, the reason and the remedy.

use std::io;

/// An error for the user, reported as an `error` event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}")]
pub struct Failure {
    pub what: String,
    pub why: String,
    pub remedy: String,
}

impl Failure {
    pub fn new(
        what: impl Into<String>,
        why: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Failure {
        Failure {
            what: what.into(),
            why: why.into(),
            remedy: remedy.into(),
        }
    }

    /// A system call that failed; the remedy follows from the error number.
    pub fn io(what: impl Into<String>, error: &io::Error) -> Failure {
        Failure::new(what, error.to_string(), remedy(error))
    }
}

/// For `map_err`: names the operation of which the system call failed.
pub fn during<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Failure {
    let what = what.into();
    move |error| Failure::io(what, &error.into())
}

fn remedy(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EADDRNOTAVAIL) => "give an address that this node has (see `ip address`)",
        Some(libc::EADDRINUSE) => "give another port, or 0 for any free one",
        Some(libc::EPERM | libc::EACCES) => "run the probe as root",
        Some(libc::ENETUNREACH | libc::EHOSTUNREACH) => "check the routes of this node",
        Some(libc::ECONNREFUSED) => "start the sink before the source, and check its port",
        Some(libc::ECONNRESET) => "look whether the other end was stopped",
        Some(libc::ETIMEDOUT) => "check that the other end runs and that packets reach it",
        Some(libc::EMSGSIZE) => "use a smaller payload or a larger MTU",
        Some(libc::ENODEV | libc::ENXIO) => "give a device that this node has (see `ip link`)",
        Some(libc::ENOPROTOOPT | libc::EOPNOTSUPP) => "use a newer kernel",
        Some(libc::EMFILE | libc::ENFILE) => "raise the limit of open files",
        Some(libc::ENOMEM | libc::ENOBUFS) => "request smaller buffers",
        _ => "check the parameters of the request",
    }
}

/// The symbolic name of an error number, for counts by kind.
pub fn errno_name(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(number) => format!("{:?}", nix::errno::Errno::from_raw(number)),
        None => format!("{:?}", error.kind()),
    }
}
