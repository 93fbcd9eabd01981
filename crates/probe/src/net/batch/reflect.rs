//! Datagrams that are received and sent back from the same buffers.

use super::send::empty_header;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// How often a second datagram is looked for while they come one by one.
const LOOK_EVERY: u32 = 8;

/// The outcome of the replies to one batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reflected {
    pub sent: usize,
    pub bytes: usize,
    pub refused: usize,
}

pub struct ReflectBatch {
    buffers: Vec<u8>,
    size: usize,
    names: Vec<libc::sockaddr_storage>,
    iovecs: Vec<libc::iovec>,
    received: Vec<libc::mmsghdr>,
    replies: Vec<libc::mmsghdr>,
    /// Datagrams that the next call requests. Looking for a second one delays the answer to the
    /// first, so that more are requested only where they arrive faster than they are answered.
    room: usize,
    /// Calls in a row that requested one and found one.
    singles: u32,
}

impl ReflectBatch {
    /// Room for `count` datagrams of up to `size` bytes.
    pub fn new(count: usize, size: usize) -> ReflectBatch {
        // SAFETY: all zero is a valid sockaddr_storage.
        let name = unsafe { std::mem::zeroed() };
        ReflectBatch {
            buffers: vec![0; count * size],
            size,
            names: vec![name; count],
            iovecs: Vec::with_capacity(count),
            received: Vec::with_capacity(count),
            replies: Vec::with_capacity(count),
            room: 1,
            singles: 0,
        }
    }

    /// Waits for one datagram and takes those behind it, as many as came at once before.
    pub fn receive(&mut self, socket: &impl AsFd) -> io::Result<usize> {
        let size = self.size;
        self.iovecs.clear();
        self.iovecs
            .extend(
                self.buffers
                    .chunks_mut(size)
                    .take(self.room)
                    .map(|buffer| libc::iovec {
                        iov_base: buffer.as_mut_ptr().cast(),
                        iov_len: size,
                    }),
            );
        self.received.clear();
        self.received.extend(
            self.iovecs
                .iter_mut()
                .zip(&mut self.names)
                .map(|(iovec, name)| {
                    let mut header = empty_header();
                    header.msg_hdr.msg_iov = iovec;
                    header.msg_hdr.msg_iovlen = 1;
                    header.msg_hdr.msg_name = std::ptr::from_mut(name).cast();
                    header.msg_hdr.msg_namelen = size_of_val(name) as libc::socklen_t;
                    header
                }),
        );
        // SAFETY: every header points to an iovec, a buffer and a name of the stated lengths, all
        // owned by `self`, which is borrowed until the call returns.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_fd().as_raw_fd(),
                self.received.as_mut_ptr(),
                self.received.len() as libc::c_uint,
                libc::MSG_WAITFORONE as _,
                std::ptr::null_mut(),
            )
        };
        let received = usize::try_from(received).map_err(|_| io::Error::last_os_error());
        // On an error nothing of an earlier call must be left to be sent back.
        self.received.truncate(*received.as_ref().unwrap_or(&0));
        self.room = self.next_room();
        received
    }

    fn next_room(&mut self) -> usize {
        if self.received.len() < self.room {
            return 1;
        }
        if self.room == 1 {
            self.singles = (self.singles + 1) % LOOK_EVERY;
            if self.singles > 0 {
                return 1;
            }
        }
        (2 * self.room).min(self.names.len())
    }

    /// Sends back those of the datagrams just received that `reply` accepts (and may change, but
    /// not lengthen).
    pub fn reflect(
        &mut self,
        socket: &impl AsFd,
        mut reply: impl FnMut(&mut [u8]) -> bool,
    ) -> Reflected {
        self.replies.clear();
        let datagrams = self.received.iter().zip(self.buffers.chunks_mut(self.size));
        for ((header, buffer), iovec) in datagrams.zip(&mut self.iovecs) {
            let length = header.msg_len as usize;
            if length > 0 && header.msg_hdr.msg_namelen > 0 && reply(&mut buffer[..length]) {
                iovec.iov_base = buffer.as_mut_ptr().cast();
                iovec.iov_len = length;
                let mut answer = empty_header();
                answer.msg_hdr = header.msg_hdr;
                answer.msg_hdr.msg_iov = iovec;
                answer.msg_hdr.msg_flags = 0;
                self.replies.push(answer);
            }
        }
        let mut first = 0;
        let mut sent = 0;
        let mut bytes = 0;
        while first < self.replies.len() {
            let rest = &mut self.replies[first..];
            // SAFETY: as above; the names are those that the kernel has written.
            let taken = unsafe {
                libc::sendmmsg(
                    socket.as_fd().as_raw_fd(),
                    rest.as_mut_ptr(),
                    rest.len() as libc::c_uint,
                    0,
                )
            };
            match usize::try_from(taken) {
                Ok(taken) if taken > 0 => {
                    sent += taken;
                    let of_taken = rest[..taken].iter().map(|reply| reply.msg_len as usize);
                    bytes += of_taken.sum::<usize>();
                    first += taken;
                }
                // The first of the rest was refused; those behind it may go through.
                _ => first += 1,
            }
        }
        Reflected {
            sent,
            bytes,
            refused: self.replies.len() - sent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn chosen_datagrams_come_back_to_who_sent_them() {
        let reflector = UdpSocket::bind("127.0.0.1:0").unwrap();
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        peer.connect(reflector.local_addr().unwrap()).unwrap();
        let mut batch = ReflectBatch::new(8, 100);
        for text in ["a1", "b22", "a333"] {
            peer.send(text.as_bytes()).unwrap();
        }
        batch.singles = LOOK_EVERY - 1;
        let choose = |datagram: &mut [u8]| {
            let chosen = datagram[0] == b'a';
            datagram[0] = b'x';
            chosen
        };
        let reflected = |sent, bytes| Reflected {
            sent,
            bytes,
            refused: 0,
        };
        assert_eq!(batch.receive(&reflector).unwrap(), 1);
        assert_eq!(batch.reflect(&reflector, choose), reflected(1, 2));
        assert_eq!(batch.receive(&reflector).unwrap(), 2);
        assert_eq!(batch.reflect(&reflector, choose), reflected(1, 4));
        let mut buffer = [0; 100];
        assert_eq!(peer.recv(&mut buffer).unwrap(), 2);
        assert_eq!(peer.recv(&mut buffer).unwrap(), 4);
        assert_eq!(&buffer[..4], b"x333");
    }
}
