//! Many datagrams per system call: sendmmsg, and with it UDP_SEGMENT.

use crate::net::socket::set_int;
use socket2::SockAddr;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// The kernel's limit of segments per message (UDP_MAX_SEGMENTS), which it does not report: of recent
/// kernels, and of all that have any.
pub const MOST_SEGMENTS: usize = 128;
pub const FEWER_SEGMENTS: usize = 64;
/// The longest payload of a UDP datagram over IPv4.
const MAX_DATAGRAM: usize = 65_507;

/// Datagrams, each with a place of its own that is filled once and sent often.
///
/// A message holds one datagram, or several of one length that the kernel cuts.
pub struct SendBatch {
    payloads: Vec<u8>,
    stride: usize,
    per_message: usize,
    // What `headers` points into; neither is moved nor resized after construction.
    iovecs: Vec<libc::iovec>,
    _to: Option<Box<SockAddr>>,
    headers: Vec<libc::mmsghdr>,
}

// SAFETY: the raw pointers in `headers` and `iovecs` point only into buffers that `self` owns.
unsafe impl Send for SendBatch {}

impl SendBatch {
    /// `count` copies of `payload`; `to` for a socket that is not connected.
    pub fn new(count: usize, payload: &[u8], to: Option<SockAddr>) -> SendBatch {
        SendBatch::with_messages_of(1, count, payload, to)
    }

    /// The same, but the kernel cuts at least `count` of them, at most `segments` from each message:
    /// sets the socket's UDP_SEGMENT.
    pub fn segmented(
        socket: &impl AsFd,
        segments: usize,
        count: usize,
        payload: &[u8],
        to: Option<SockAddr>,
    ) -> io::Result<SendBatch> {
        let per_message = (MAX_DATAGRAM / payload.len().max(1)).clamp(1, segments);
        let size = payload.len() as libc::c_int;
        set_int(socket, libc::SOL_UDP, libc::UDP_SEGMENT, size)?;
        let count = count.next_multiple_of(per_message);
        Ok(SendBatch::with_messages_of(per_message, count, payload, to))
    }

    fn with_messages_of(
        per_message: usize,
        count: usize,
        payload: &[u8],
        to: Option<SockAddr>,
    ) -> SendBatch {
        let mut payloads = payload.repeat(count);
        let to = to.map(Box::new);
        let stride = payload.len();
        let base = payloads.as_mut_ptr();
        let mut iovecs: Vec<libc::iovec> = (0..count / per_message)
            .map(|i| libc::iovec {
                // In bounds: `payloads` holds `count * stride` bytes.
                iov_base: base.wrapping_add(i * per_message * stride).cast(),
                iov_len: per_message * stride,
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
            stride,
            per_message,
            iovecs,
            _to: to,
            headers,
        }
    }

    /// Datagrams of a message; 1 where the kernel does not cut.
    pub fn per_message(&self) -> usize {
        self.per_message
    }

    /// Datagrams that one call can send.
    pub fn capacity(&self) -> usize {
        self.headers.len() * self.per_message
    }

    pub fn payload(&mut self, index: usize) -> &mut [u8] {
        let start = index * self.stride;
        &mut self.payloads[start..start + self.stride]
    }

    /// Sends only the first `length` bytes of a datagram; not where the kernel cuts them.
    pub fn set_length(&mut self, index: usize, length: usize) {
        debug_assert!(self.per_message == 1);
        self.iovecs[index].iov_len = length.min(self.stride);
    }

    /// Hands the first `count` datagrams to the kernel; returns how many it took.
    ///
    /// If it took some but not all, the error of the next one is known only to the kernel.
    pub fn send(&mut self, socket: &impl AsFd, count: usize) -> io::Result<usize> {
        let count = count.min(self.capacity());
        let messages = count.div_ceil(self.per_message);
        if self.per_message > 1 {
            for (i, iovec) in self.iovecs[..messages].iter_mut().enumerate() {
                let segments = (count - i * self.per_message).min(self.per_message);
                iovec.iov_len = segments * self.stride;
            }
        }
        // SAFETY: `headers` has at least `messages` entries; each points to one iovec, which points
        // to payloads, and perhaps to an address: all owned by `self` and never moved.
        let sent = unsafe {
            libc::sendmmsg(
                socket.as_fd().as_raw_fd(),
                self.headers.as_mut_ptr(),
                messages as libc::c_uint,
                0,
            )
        };
        let sent = usize::try_from(sent).map_err(|_| io::Error::last_os_error())?;
        Ok((sent * self.per_message).min(count))
    }

    /// Datagrams that the kernel refuses together, from number `index` of the batch on.
    pub fn refused_together(&self, index: usize, count: usize) -> usize {
        self.per_message.min(count - index)
    }
}

pub(super) fn empty_header() -> libc::mmsghdr {
    // SAFETY: all zero (null pointers, no lengths) is a valid mmsghdr.
    unsafe { std::mem::zeroed() }
}

#[cfg(test)]
mod tests {
    use super::super::receive::ReceiveBatch;
    use super::*;
    use std::net::UdpSocket;

    fn pair() -> (UdpSocket, UdpSocket) {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        (sender, receiver)
    }

    fn received(receiver: &UdpSocket) -> Vec<(u8, usize)> {
        let mut batch = ReceiveBatch::new(receiver, 256, 2000, false);
        batch.receive_now(receiver).unwrap();
        let datagrams = batch.datagrams();
        datagrams.map(|d| (d.bytes[0], d.bytes.len())).collect()
    }

    #[test]
    fn what_is_sent_arrives_with_its_length() {
        let (sender, receiver) = pair();
        let to = receiver.local_addr().unwrap();
        let mut batch = SendBatch::new(4, &[7; 100], Some(to.into()));
        for i in 0..batch.capacity() {
            batch.payload(i)[0] = i as u8;
        }
        batch.set_length(1, 30);
        assert_eq!(batch.send(&sender, 3).unwrap(), 3);
        assert_eq!(received(&receiver), [(0, 100), (1, 30), (2, 100)]);
    }

    #[test]
    fn the_kernel_cuts_messages_into_datagrams() {
        let (sender, receiver) = pair();
        let Ok(mut batch) = SendBatch::segmented(&sender, FEWER_SEGMENTS, 100, &[7; 100], None)
        else {
            return; // a kernel before 4.18
        };
        assert_eq!(batch.capacity(), 128);
        for i in 0..batch.capacity() {
            batch.payload(i)[0] = i as u8;
        }
        assert_eq!(batch.send(&sender, 70).unwrap(), 70);
        let expected: Vec<(u8, usize)> = (0..70).map(|i| (i, 100)).collect();
        assert_eq!(received(&receiver), expected);
        assert_eq!(batch.refused_together(64, 70), 6);
        assert_eq!(batch.refused_together(0, 70), 64);
    }
}
