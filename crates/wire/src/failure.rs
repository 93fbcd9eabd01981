//! Errors for users: the thing, the reason, the remedy, on one line.

use std::fmt;

/// The exit codes of all of Culvert's programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An operation failed.
    Failed = 1,
    /// Wrong use or bad input.
    Usage = 2,
    /// This machine cannot do it.
    NotPossible = 3,
}

#[derive(Debug, thiserror::Error)]
pub struct Failure {
    pub kind: Kind,
    pub what: String,
    pub why: String,
    pub remedy: &'static str,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.what, self.why, self.remedy)
    }
}

impl Failure {
    pub fn new(
        kind: Kind,
        what: impl fmt::Display,
        why: impl fmt::Display,
        remedy: &'static str,
    ) -> Self {
        Self {
            kind,
            what: what.to_string(),
            why: why.to_string(),
            remedy,
        }
    }

    /// An error of the kernel; if a privilege is missing, the kind is `NotPossible`.
    pub fn refused(what: impl fmt::Display, errno: nix::Error, remedy: &'static str) -> Self {
        match errno {
            nix::Error::EPERM | nix::Error::EACCES => Self::new(
                Kind::NotPossible,
                what,
                errno.desc(),
                "run it as root, or in `culvert shell`",
            ),
            _ => Self::new(Kind::Failed, what, errno.desc(), remedy),
        }
    }
}
