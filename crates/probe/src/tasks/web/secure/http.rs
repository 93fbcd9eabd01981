//! Requests for objects of a page: `GET /5000` is for 5000 bytes. Pure.

use crate::protocol::values::{Token, to_hex};
use crate::tasks::web::secure::identity::NAME;
use http::header::AUTHORIZATION;
use http::{Method, Request};
use serde::Deserialize;

/// The largest object.
pub const MAX_OBJECT: u32 = 64 << 20;
/// Bytes that are sent at once.
pub const CHUNK: usize = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Version {
    /// Over TLS and TCP.
    #[serde(rename = "2")]
    Two,
    /// Over QUIC.
    #[serde(rename = "3")]
    Three,
}

impl Version {
    /// The name in ALPN.
    pub fn protocol(self) -> &'static [u8] {
        match self {
            Version::Two => b"h2",
            Version::Three => b"h3",
        }
    }
}

/// The session's request for an object of so many bytes.
pub fn request(token: &Token, size: u32) -> Request<()> {
    Request::builder()
        .method(Method::GET)
        .uri(format!("https://{NAME}/{size}"))
        .header(AUTHORIZATION, to_hex(&token.0))
        .body(())
        .expect("digits make a request")
}

/// The size that a request of the session is for; None of a stranger's.
pub fn wanted<T>(request: &Request<T>, token: &Token) -> Option<u32> {
    let shown = request.headers().get(AUTHORIZATION)?.as_bytes();
    let size = request.uri().path().strip_prefix('/')?.parse().ok()?;
    (request.method() == Method::GET
        && shown == to_hex(&token.0).as_bytes()
        && (1..=MAX_OBJECT).contains(&size))
    .then_some(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OURS: Token = Token([7; 16]);

    proptest! {
        #[test]
        fn there_and_back(size in 1..=MAX_OBJECT) {
            prop_assert_eq!(wanted(&request(&OURS, size), &OURS), Some(size));
            prop_assert_eq!(wanted(&request(&Token([8; 16]), size), &OURS), None);
        }

        #[test]
        fn any_path_and_token_are_read_or_refused(path in "/[a-z0-9%-]{0,20}", shown in "[ -~]{0,40}") {
            let request = Request::builder().uri(path).header(AUTHORIZATION, shown).body(());
            prop_assert_eq!(wanted(&request.unwrap(), &OURS), None);
        }
    }

    #[test]
    fn sizes_out_of_range_are_refused() {
        for size in [0, MAX_OBJECT + 1] {
            assert_eq!(wanted(&request(&OURS, size), &OURS), None);
        }
    }
}
