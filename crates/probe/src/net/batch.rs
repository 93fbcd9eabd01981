//! Many datagrams per system call: sendmmsg and recvmmsg.

use socket2::SockAddr;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Datagrams of one length, each with a buffer of its own that is filled once and sent often.
pub struct SendBatch {
    payloads: Vec<u8>,
    payload_size: usize,
    // What `headers` points into; neither is moved nor resized after construction.
    _iovecs: Vec<libc::iovec>,
    _to: Option<Box<SockAddr>>,
    headers: Vec<libc::mmsghdr>,
}

impl SendBatch {
    /// `count` copies of `payload`; `to` for a socket that is not connected.
    pub fn new(count: usize, payload: &[u8], to: Option<SockAddr>) -> SendBatch {
        let mut payloads = payload.repeat(count);
        let to = to.map(Box::new);
        let size = payload.len();
        let base = payloads.as_mut_ptr();
        let mut iovecs: Vec<libc::iovec> = (0..count)
            .map(|i| libc::iovec {
                // In bounds: `payloads` holds `count * size` bytes.
                iov_base: base.wrapping_add(i * size).cast(),
                iov_len: size,
            })
            .collect();
        let headers = iovecs
            .iter_mut()
            .map(|iovec| {
                let mut header = empty_header();
                header.msg_hdr.msg_iov = iovec;
                header.msg_hdr.msg_iovlen = 1;
                if let Some(to) = &to {
                    header.msg_hdr.msg_name = to.as_ptr().cast_mut().cast();
                    header.msg_hdr.msg_namelen = to.len();
                }
                header
            })
            .collect();
        SendBatch {
            payloads,
            payload_size: size,
            _iovecs: iovecs,
            _to: to,
            headers,
        }
    }

    pub fn capacity(&self) -> usize {
        self.headers.len()
    }

    pub fn payload(&mut self, index: usize) -> &mut [u8] {
        let start = index * self.payload_size;
        &mut self.payloads[start..start + self.payload_size]
    }

    /// Hands the first `count` datagrams to the kernel; returns how many it took.
    ///
    /// If it took some but not all, the error of the next one is known only to the kernel.
    pub fn send(&mut self, socket: &impl AsFd, count: usize) -> io::Result<usize> {
        let count = count.min(self.headers.len());
        // SAFETY: `headers` has at least `count` entries; each points to one iovec, which points to
        // a payload, and perhaps to an address: all owned by `self` and never moved.
        let sent = unsafe {
            libc::sendmmsg(
                socket.as_fd().as_raw_fd(),
                self.headers.as_mut_ptr(),
                count as libc::c_uint,
                0,
            )
        };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }
}

/// Room for datagrams, each up to `size` bytes.
pub struct ReceiveBatch {
    buffers: Vec<u8>,
    stride: usize,
    // What `headers` points into; neither is moved nor resized after construction.
    _iovecs: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
    received: usize,
}

impl ReceiveBatch {
    pub fn new(count: usize, size: usize) -> ReceiveBatch {
        // Buffers at multiples of a large power of two would all share a few lines of the cache.
        let stride = size.next_multiple_of(64) + 64;
        let mut buffers = vec![0; count * stride];
        let base = buffers.as_mut_ptr();
        let mut iovecs: Vec<libc::iovec> = (0..count)
            .map(|i| libc::iovec {
                // In bounds: `buffers` holds `count * stride` bytes and `size < stride`.
                iov_base: base.wrapping_add(i * stride).cast(),
                iov_len: size,
            })
            .collect();
        let headers = iovecs
            .iter_mut()
            .map(|iovec| {
                let mut header = empty_header();
                header.msg_hdr.msg_iov = iovec;
                header.msg_hdr.msg_iovlen = 1;
                header
            })
            .collect();
        ReceiveBatch {
            buffers,
            stride,
            _iovecs: iovecs,
            headers,
            received: 0,
        }
    }

    /// Waits for one datagram and takes all that are there, as many as there is room for.
    pub fn receive(&mut self, socket: &impl AsFd) -> io::Result<usize> {
        self.receive_with(socket, libc::MSG_WAITFORONE)
    }

    /// Takes what is there, which may be nothing.
    pub fn receive_now(&mut self, socket: &impl AsFd) -> io::Result<usize> {
        match self.receive_with(socket, libc::MSG_DONTWAIT) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            other => other,
        }
    }

    fn receive_with(&mut self, socket: &impl AsFd, flags: libc::c_int) -> io::Result<usize> {
        self.received = 0;
        // SAFETY: every header points to one iovec, which points to a buffer of its length: all
        // owned by `self` and never moved.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_fd().as_raw_fd(),
                self.headers.as_mut_ptr(),
                self.headers.len() as libc::c_uint,
                flags,
                std::ptr::null_mut(),
            )
        };
        self.received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
        Ok(self.received)
    }

    /// The datagrams that the last call took.
    pub fn datagrams(&self) -> impl Iterator<Item = &[u8]> {
        self.headers[..self.received]
            .iter()
            .zip(self.buffers.chunks(self.stride))
            .map(|(header, buffer)| &buffer[..header.msg_len as usize])
    }
}

pub(super) fn empty_header() -> libc::mmsghdr {
    // SAFETY: all zero (null pointers, no lengths) is a valid mmsghdr.
    unsafe { std::mem::zeroed() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn what_is_sent_arrives() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = receiver.local_addr().unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut batch = SendBatch::new(4, &[7; 100], Some(to.into()));
        for i in 0..batch.capacity() {
            batch.payload(i)[0] = i as u8;
        }
        assert_eq!(batch.send(&sender, 3).unwrap(), 3);
        let mut received = ReceiveBatch::new(8, 2000);
        assert_eq!(received.receive(&receiver).unwrap(), 3);
        let firsts: Vec<_> = received.datagrams().map(|d| (d[0], d.len())).collect();
        assert_eq!(firsts, [(0, 100), (1, 100), (2, 100)]);
    }
}
