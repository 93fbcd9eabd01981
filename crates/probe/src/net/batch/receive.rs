//! Many datagrams per system call: recvmmsg, with the kernel's timestamps and UDP_GRO.

use super::send::empty_header;
use crate::net::socket::set_int;
use crate::timing::clock;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Room for a timestamp and a segment size as control messages, aligned as the kernel wants it.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

const CONTROL: usize = 96;
/// Length, level and type stand in front of each control message.
const CONTROL_HEADER: usize = 16;

/// A received datagram and when it arrived.
pub struct Datagram<'a> {
    pub bytes: &'a [u8],
    /// CLOCK_MONOTONIC, of the kernel where it stamps packets.
    pub arrived_ns: u64,
}

/// Room for datagrams, each up to `size` bytes.
pub struct ReceiveBatch {
    buffers: Vec<u8>,
    size: usize,
    stride: usize,
    controls: Vec<Control>,
    stamped: bool,
    // What `headers` points into; neither is moved nor resized after construction.
    _iovecs: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
    received: usize,
    received_ns: u64,
    realtime_ahead_ns: i64,
}

// SAFETY: the raw pointers in `headers` and `_iovecs` point only into buffers that `self` owns.
unsafe impl Send for ReceiveBatch {}

impl ReceiveBatch {
    /// Asks the kernel for timestamps on the socket and, if `coalesced`, to join datagrams of one
    /// length into one message (UDP_GRO), which spares a walk through its layers for each. Both are
    /// done without where the kernel can't.
    pub fn new(socket: &impl AsFd, count: usize, size: usize, coalesced: bool) -> ReceiveBatch {
        let stamped = ReceiveBatch::prepare(socket, coalesced);
        // Buffers at multiples of a large power of two would all share a few lines of the cache.
        let stride = size.next_multiple_of(64) + 64;
        let mut buffers = vec![0; count * stride];
        let mut controls = vec![Control([0; CONTROL]); count];
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
            .zip(&mut controls)
            .map(|(iovec, control)| {
                let mut header = empty_header();
                header.msg_hdr.msg_iov = iovec;
                header.msg_hdr.msg_iovlen = 1;
                header.msg_hdr.msg_control = std::ptr::from_mut(control).cast();
                header.msg_hdr.msg_controllen = CONTROL as _;
                header
            })
            .collect();
        ReceiveBatch {
            buffers,
            size,
            stride,
            controls,
            stamped,
            _iovecs: iovecs,
            headers,
            received: 0,
            received_ns: 0,
            realtime_ahead_ns: 0,
        }
    }

    /// Requests the same of a further socket that the batch reads; returns whether it has timestamps.
    pub fn prepare(socket: &impl AsFd, coalesced: bool) -> bool {
        if coalesced {
            let _ = set_int(socket, libc::SOL_UDP, libc::UDP_GRO, 1);
        }
        set_int(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1).is_ok()
    }

    /// Whether arrival times are the kernel's.
    pub fn stamped(&self) -> bool {
        self.stamped
    }

    /// Messages that one call can take.
    pub fn capacity(&self) -> usize {
        self.headers.len()
    }

    /// Takes what is there, which may be nothing; returns how many messages that were.
    pub fn receive_now(&mut self, socket: &impl AsFd) -> io::Result<usize> {
        // The kernel has written the true lengths over those of the messages of the last call.
        for header in &mut self.headers[..self.received] {
            header.msg_hdr.msg_controllen = CONTROL as _;
        }
        self.received = 0;
        // SAFETY: every header points to one iovec, which points to a buffer of its length, and to
        // room for control messages of the stated length: all owned by `self` and never moved.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_fd().as_raw_fd(),
                self.headers.as_mut_ptr(),
                self.headers.len() as libc::c_uint,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        self.received = match usize::try_from(received) {
            Ok(received) => received,
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::WouldBlock => 0,
                error => return Err(error),
            },
        };
        // Realtime first: an interruption between the two clocks makes packets later than they
        // were, and no delay shorter than it can have been. A step of it does no harm unless it
        // falls between a packet's arrival and this.
        let realtime_ns = clock::realtime_ns();
        self.received_ns = clock::monotonic_ns();
        self.realtime_ahead_ns = realtime_ns as i64 - self.received_ns as i64;
        Ok(self.received)
    }

    /// CLOCK_REALTIME less CLOCK_MONOTONIC at the last call.
    pub fn realtime_ahead_ns(&self) -> i64 {
        self.realtime_ahead_ns
    }

    /// The datagrams that the last call took, joined ones taken apart. Empty ones are left out:
    /// a socket that was shut down returns them without end.
    pub fn datagrams(&self) -> impl Iterator<Item = Datagram<'_>> {
        (0..self.received).flat_map(|i| {
            let header = &self.headers[i];
            let start = i * self.stride;
            let length = (header.msg_len as usize).min(self.size);
            let bytes = &self.buffers[start..start + length];
            let fields = read_control(&self.controls[i].0, header.msg_hdr.msg_controllen as _);
            let arrived_ns = match fields.realtime_ns {
                Some(stamp_ns) => stamp_ns.saturating_add_signed(-self.realtime_ahead_ns),
                None => self.received_ns,
            };
            let segment = fields.segment_size.unwrap_or(length).max(1);
            bytes
                .chunks(segment)
                .map(move |bytes| Datagram { bytes, arrived_ns })
        })
    }
}

/// The content of the control messages of one message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::net) struct ControlFields {
    pub realtime_ns: Option<u64>,
    segment_size: Option<usize>,
}

/// Reads a control buffer: cmsg(3), messages aligned to 8 bytes.
pub(in crate::net) fn read_control(control: &[u8], length: usize) -> ControlFields {
    let mut fields = ControlFields::default();
    let mut rest = control.get(..length).unwrap_or_default();
    while let Some((header, _)) = rest.split_first_chunk::<CONTROL_HEADER>() {
        let word = |at: usize| {
            i32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let length = usize::from_ne_bytes(std::array::from_fn(|i| header[i]));
        let Some(body) = rest.get(CONTROL_HEADER..length) else {
            break;
        };
        match (word(8), word(12)) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => fields.realtime_ns = timespec_ns(body),
            (libc::SOL_UDP, libc::UDP_GRO) => {
                let size = body.first_chunk().map(|bytes| i32::from_ne_bytes(*bytes));
                fields.segment_size = size.and_then(|size| usize::try_from(size).ok());
            }
            _ => {}
        }
        rest = rest.get(length.next_multiple_of(8)..).unwrap_or_default();
    }
    fields
}

fn timespec_ns(body: &[u8]) -> Option<u64> {
    let (seconds, rest) = body.split_first_chunk()?;
    let (ns, _) = rest.split_first_chunk()?;
    let seconds = u64::from_ne_bytes(*seconds).checked_mul(1_000_000_000)?;
    seconds.checked_add(u64::from_ne_bytes(*ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::batch::send::SendBatch;
    use proptest::prelude::*;
    use std::net::UdpSocket;

    proptest! {
        #[test]
        fn any_control_is_read_without_harm(bytes: [u8; 32], first in 0_u64..200, length in 0_usize..200) {
            let mut control = [0; CONTROL];
            for chunk in control.chunks_mut(32) {
                chunk.copy_from_slice(&bytes[..chunk.len()]);
            }
            control[..8].copy_from_slice(&first.to_ne_bytes());
            read_control(&control, length);
        }
    }

    #[test]
    fn joined_datagrams_are_taken_apart_and_stamped() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        let mut batch = ReceiveBatch::new(&receiver, 16, 65_535, true);
        let Ok(mut sent) = SendBatch::segmented(&sender, 16, 16, &[5; 200], None) else {
            return; // a kernel before 4.18
        };
        let before_ns = clock::monotonic_ns();
        assert_eq!(sent.send(&sender, 10).unwrap(), 10);
        batch.receive_now(&receiver).unwrap();
        let datagrams: Vec<_> = batch.datagrams().collect();
        assert_eq!(datagrams.len(), 10);
        for datagram in datagrams {
            assert_eq!(datagram.bytes, [5; 200]);
            // The two clocks are read one after the other.
            assert!(datagram.arrived_ns + 1_000_000 > before_ns);
            assert!(datagram.arrived_ns <= clock::monotonic_ns() + 1_000_000);
        }
        assert!(batch.stamped());
    }
}
