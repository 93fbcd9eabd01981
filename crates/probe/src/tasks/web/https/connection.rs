//! One connection: a request at a time, by HTTP/1.1 over TLS (RFC 9112).

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

const MAX_LINE: u64 = 16 << 10;
const MAX_HEADERS: usize = 200;
const MAX_BODY: u64 = 256 << 20;

/// The server, and the bytes of each request to it.
pub struct Target {
    pub address: SocketAddr,
    pub name: ServerName<'static>,
    pub config: Arc<ClientConfig>,
    pub request: Vec<u8>,
    pub timeout: Duration,
}

pub struct Answer {
    pub status: u16,
    /// Of the body.
    pub bytes: u64,
    /// Whether another request can follow on the connection.
    pub reusable: bool,
}

pub struct HttpsConnection(BufReader<StreamOwned<ClientConnection, TcpStream>>);

impl HttpsConnection {
    pub fn open(target: &Target) -> io::Result<HttpsConnection> {
        let stream = TcpStream::connect_timeout(&target.address, target.timeout)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(target.timeout))?;
        stream.set_write_timeout(Some(target.timeout))?;
        let tls = ClientConnection::new(Arc::clone(&target.config), target.name.clone())
            .map_err(io::Error::other)?;
        Ok(HttpsConnection(BufReader::new(StreamOwned::new(
            tls, stream,
        ))))
    }

    pub fn request(&mut self, target: &Target) -> io::Result<Answer> {
        self.0.get_mut().write_all(&target.request)?;
        self.0.get_mut().flush()?;
        answer(&mut self.0)
    }
}

/// Reads one answer to its end.
pub fn answer(reader: &mut impl BufRead) -> io::Result<Answer> {
    let first = line(reader)?;
    let status = first
        .split(' ')
        .nth(1)
        .and_then(|word| word.parse().ok())
        .ok_or_else(|| invalid("it is no HTTP"))?;
    let (mut length, mut chunked, mut reusable) = (None, false, first.starts_with("HTTP/1.1"));
    for _ in 0..MAX_HEADERS {
        let header = line(reader)?.to_ascii_lowercase();
        if header.is_empty() {
            let bytes = body(reader, length, chunked)?;
            return Ok(Answer {
                status,
                bytes,
                reusable,
            });
        }
        match header
            .split_once(':')
            .map(|(name, value)| (name, value.trim()))
        {
            Some(("content-length", value)) => length = value.parse().ok(),
            Some(("transfer-encoding", value)) => chunked = value == "chunked",
            Some(("connection", "close")) => reusable = false,
            _ => {}
        }
    }
    Err(invalid("it has too many headers"))
}

fn body(reader: &mut impl BufRead, length: Option<u64>, chunked: bool) -> io::Result<u64> {
    if !chunked {
        let length = length.ok_or_else(|| invalid("its length is missing"))?;
        return skip(reader, length).map(|()| length);
    }
    let mut total = 0;
    loop {
        let size = u64::from_str_radix(line(reader)?.split(';').next().unwrap_or(""), 16)
            .map_err(|_| invalid("a chunk has no size"))?;
        if size == 0 {
            while !line(reader)?.is_empty() {}
            return Ok(total);
        }
        skip(reader, size)?;
        line(reader)?;
        total += size;
    }
}

fn skip(reader: &mut impl BufRead, length: u64) -> io::Result<()> {
    if length > MAX_BODY {
        return Err(invalid("it is too long"));
    }
    let read = io::copy(&mut reader.take(length), &mut io::sink())?;
    if read < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

/// A line without its end.
fn line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut text = Vec::new();
    reader.take(MAX_LINE).read_until(b'\n', &mut text)?;
    if text.pop() != Some(b'\n') {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if text.last() == Some(&b'\r') {
        text.pop();
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn invalid(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::answer;
    use std::io::Cursor;

    fn parsed(text: &str) -> (u16, u64, bool) {
        let answer = answer(&mut Cursor::new(text.as_bytes())).unwrap();
        (answer.status, answer.bytes, answer.reusable)
    }

    #[test]
    fn a_body_with_its_length() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
        assert_eq!(parsed(text), (200, 3, true));
        let closing = "HTTP/1.1 429 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(parsed(closing), (429, 0, false));
    }

    #[test]
    fn a_body_in_chunks() {
        let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\n\r\n";
        assert_eq!(parsed(text), (200, 5, true));
    }

    #[test]
    fn what_is_cut_or_no_http_is_an_error() {
        for text in [
            "",
            "SSH-2.0\r\n",
            "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        ] {
            assert!(answer(&mut Cursor::new(text.as_bytes())).is_err(), "{text}");
        }
    }
}
