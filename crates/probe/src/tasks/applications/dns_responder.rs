//! `dns_responder`: answers queries for the session's names: those with the token's tag in them.

use crate::net::socket;
use crate::protocol::failure::{Failure, during};
use crate::protocol::values::{Seconds, Token, to_hex};
use crate::tasks::context::{Context, Listening};
use crate::timing::clock;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;

const HEADER: usize = 12;
const TYPE_A: u16 = 1;
/// Response, authoritative, recursion desired and available.
const FLAGS: [u8; 2] = [0x85, 0x80];
/// RFC 2544: no address of the internet.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 255, 254);
const LONGEST: usize = 1500;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    bind: IpAddr,
    #[serde(default = "domain")]
    port: u16,
    token: Token,
    /// Ends after so long without a query.
    idle_s: Seconds,
}

fn domain() -> u16 {
    53
}

#[derive(Debug, Default, Serialize)]
pub struct Responded {
    queries: u64,
    strangers: u64,
}

/// The suffix of each name of a session.
pub fn suffix(token: &Token) -> String {
    format!("{}.culvert.test", to_hex(&token.tag()))
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Responded, Failure> {
    let socket = socket::bind_udp(parameters.bind, parameters.port)?;
    socket
        .set_nonblocking(true)
        .map_err(during("dns_responder"))?;
    let port = socket::local_port(&socket)?;
    context.ready(Listening { port });
    let tag = to_hex(&parameters.token.tag());
    let mut responded = Responded::default();
    let mut buffer = [0; LONGEST];
    let mut idle_until_ns = clock::monotonic_ns() + parameters.idle_s.ns();
    while !context.stop.requested() && clock::monotonic_ns() < idle_until_ns {
        if !context.stop.wait_readable(socket.as_fd(), idle_until_ns) {
            continue;
        }
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            match answer(&buffer[..length], &tag) {
                Some(answer) => {
                    responded.queries += 1;
                    idle_until_ns = clock::monotonic_ns() + parameters.idle_s.ns();
                    let _ = socket.send_to(&answer, from); // as if lost on the way
                }
                None => responded.strangers += 1,
            }
        }
    }
    Ok(responded)
}

/// The response to a query (RFC 1035, section 4); None if it is none of the session's.
fn answer(query: &[u8], tag: &str) -> Option<Vec<u8>> {
    let (header, rest) = query.split_at_checked(HEADER)?;
    let is_query = header[2] & 0x80 == 0 && header[4..6] == [0, 1];
    let mut labels = Vec::new();
    let mut at = 0;
    loop {
        let length = usize::from(*rest.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        labels.push(rest.get(at..at + length)?);
        at += length;
    }
    let question = rest.get(..at + 4)?;
    let kind = u16::from_be_bytes(*question[at..].first_chunk()?);
    if !is_query || !labels.contains(&tag.as_bytes()) {
        return None;
    }
    let answers = u8::from(kind == TYPE_A);
    let mut response = header[..2].to_vec();
    response.extend(FLAGS);
    response.extend([0, 1, 0, answers, 0, 0, 0, 0]);
    response.extend(question);
    if answers == 1 {
        // Name: that of the question; type A, class IN, no time to live, four bytes.
        response.extend([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
        response.extend(ADDRESS.octets());
    }
    Some(response)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn query(name: &[&str], kind: u8) -> Vec<u8> {
        let mut bytes = vec![7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name {
            bytes.push(label.len() as u8);
            bytes.extend(label.as_bytes());
        }
        bytes.extend([0, 0, kind, 0, 1]);
        bytes
    }

    #[test]
    fn a_query_of_the_session_is_answered() {
        let answered = answer(&query(&["q1", "00ff", "culvert", "test"], 1), "00ff").unwrap();
        assert_eq!(answered[..2], [7, 7]);
        assert_eq!(answered[6..8], [0, 1]);
        assert!(answered.ends_with(&ADDRESS.octets()));
    }

    #[test]
    fn an_aaaa_query_has_no_address() {
        let answered = answer(&query(&["q1", "00ff"], 28), "00ff").unwrap();
        assert_eq!(answered[6..8], [0, 0]);
    }

    #[test]
    fn strangers_are_not_answered() {
        assert_eq!(answer(&query(&["example", "org"], 1), "00ff"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = answer(&bytes, "00ff");
        }
    }
}
