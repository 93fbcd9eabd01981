//! A socket that sees the packets of an interface (packet(7)), from the network layer on.

use crate::net::batch::receive::read_control;
use crate::net::capture::filter::{self, Direction, Look};
use crate::net::capture::search::Search;
use crate::net::device::netlink::Link;
use crate::net::socket::{self, Buffer};
use crate::packet::scope::Scope;
use crate::protocol::failure::{Failure, during};
use socket2::{Domain, SockFilter, Socket, Type};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

const BATCH: usize = 64;
/// `struct tpacket_stats`: packets, drops. Reading it sets it to zero.
const PACKET_STATISTICS: libc::c_int = 6;
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// Room for one timestamp as a control message, aligned as the kernel wants it.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; 64]);

/// A captured packet; `bytes` from the IP header on, as far as there was room for it.
pub struct Captured<'a> {
    pub ethertype: u16,
    pub outgoing: bool,
    pub wire_length: usize,
    /// The kernel's time stamp, if there is one.
    pub realtime_ns: Option<u64>,
    pub bytes: &'a [u8],
}

pub struct PacketSocket {
    socket: Socket,
    buffers: Vec<u8>,
    snaplen: usize,
    names: Vec<libc::sockaddr_ll>,
    controls: Vec<Control>,
    // What `headers` points into; never moved nor resized after construction.
    _iovecs: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
    received: usize,
}

// SAFETY: the raw pointers in `headers` and `_iovecs` point only into buffers that `self` owns.
unsafe impl Send for PacketSocket {}

impl PacketSocket {
    pub fn open(
        link: &Link,
        direction: Direction,
        snaplen: usize,
        receive_buffer: usize,
    ) -> Result<PacketSocket, Failure> {
        let what = format!("capture on {}", link.name);
        // With protocol 0 nothing is queued before filter and interface are set.
        let socket = Socket::new(Domain::PACKET, Type::DGRAM, None).map_err(during(&what))?;
        Buffer::Receive.set(&socket, receive_buffer)?;
        socket::set_int(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
            .map_err(during(format!("{what}: timestamps")))?;
        if direction == Direction::In {
            // Cheaper than the filter, which does the same on kernels before 4.20.
            let _ = socket::set_int(&socket, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
        }
        set_filter(&socket, &filter::program(direction, 1, &Look::default()))
            .map_err(during(format!("{what}: filter")))?;
        bind(&socket, link.index).map_err(during(what))?;
        Ok(PacketSocket::with_room(socket, snaplen))
    }

    /// From now on the kernel queues a random packet in `sample_one_in`, and each that the look finds.
    /// Kernels limit the memory of a filter (`net.core.optmem_max`): returns the look that found
    /// room.
    pub fn thin_out(
        &self,
        direction: Direction,
        sample_one_in: u32,
        mut look: Look,
    ) -> Result<Look, Failure> {
        loop {
            let program = filter::program(direction, sample_one_in, &look);
            let Err(error) = set_filter(&self.socket, &program) else {
                return Ok(look);
            };
            let coarser = look.search.as_ref().and_then(Search::coarser);
            if coarser.is_none() || error.raw_os_error() != Some(libc::ENOMEM) {
                return Err(Failure::io("capture: filter", &error));
            }
            look.search = coarser;
        }
    }

    /// From now on the kernel queues what is beside a scope.
    pub fn only_beside(&self, scope: &Scope) -> Result<(), Failure> {
        set_filter(&self.socket, &filter::beside(scope)).map_err(during("capture: filter"))
    }

    /// From now on the kernel queues nothing more.
    pub fn close(&self) -> Result<(), Failure> {
        set_filter(&self.socket, &filter::nothing()).map_err(during("capture: filter"))
    }

    fn with_room(socket: Socket, snaplen: usize) -> PacketSocket {
        let mut buffers = vec![0; BATCH * snaplen];
        // SAFETY: all zero is a valid sockaddr_ll.
        let mut names = vec![unsafe { std::mem::zeroed::<libc::sockaddr_ll>() }; BATCH];
        let mut controls = vec![Control([0; 64]); BATCH];
        let base = buffers.as_mut_ptr();
        let mut iovecs: Vec<libc::iovec> = (0..BATCH)
            .map(|i| libc::iovec {
                // In bounds: there are `BATCH * snaplen` bytes.
                iov_base: base.wrapping_add(i * snaplen).cast(),
                iov_len: snaplen,
            })
            .collect();
        let headers = iovecs
            .iter_mut()
            .zip(names.iter_mut().zip(&mut controls))
            .map(|(iovec, (name, control))| {
                // SAFETY: all zero (null pointers, no lengths) is a valid mmsghdr.
                let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
                header.msg_hdr.msg_iov = iovec;
                header.msg_hdr.msg_iovlen = 1;
                header.msg_hdr.msg_name = std::ptr::from_mut(name).cast();
                header.msg_hdr.msg_control = std::ptr::from_mut(control).cast();
                header
            })
            .collect();
        PacketSocket {
            socket,
            buffers,
            snaplen,
            names,
            controls,
            _iovecs: iovecs,
            headers,
            received: 0,
        }
    }

    /// Takes what is queued, which may be nothing; returns how many packets that were.
    pub fn receive_now(&mut self) -> io::Result<usize> {
        self.received = 0;
        for header in &mut self.headers {
            // The kernel writes the true lengths over these.
            header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            header.msg_hdr.msg_controllen = size_of::<Control>() as _; // of libc: its types differ
        }
        // SAFETY: every header points to an iovec, a name and a control buffer of the stated lengths,
        // all owned by `self` and never moved.
        let received = unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                self.headers.len() as libc::c_uint,
                // MSG_TRUNC: tell the length of the packet, not of what there was room for.
                (libc::MSG_DONTWAIT | libc::MSG_TRUNC) as _,
                std::ptr::null_mut(),
            )
        };
        match usize::try_from(received) {
            Ok(received) => {
                self.received = received;
                Ok(received)
            }
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
                error => Err(error),
            },
        }
    }

    /// The packets that the last call took.
    pub fn packets(&self) -> impl Iterator<Item = Captured<'_>> {
        (0..self.received).map(|i| {
            let wire_length = self.headers[i].msg_len as usize;
            let start = i * self.snaplen;
            Captured {
                ethertype: u16::from_be(self.names[i].sll_protocol),
                outgoing: self.names[i].sll_pkttype == libc::PACKET_OUTGOING,
                wire_length,
                realtime_ns: read_control(
                    &self.controls[i].0,
                    self.headers[i].msg_hdr.msg_controllen as _,
                )
                .realtime_ns,
                bytes: &self.buffers[start..start + wire_length.min(self.snaplen)],
            }
        })
    }

    /// Packets that the kernel dropped since the last call because the queue was full.
    pub fn kernel_drops(&self) -> Result<u32, Failure> {
        let mut statistics = [0_u32; 2];
        let mut length = size_of_val(&statistics) as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes, the size of the array.
        let outcome = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                PACKET_STATISTICS,
                statistics.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if outcome == 0 {
            Ok(statistics[1])
        } else {
            let error = io::Error::last_os_error();
            Err(Failure::io("capture: statistics", &error))
        }
    }
}

fn set_filter(socket: &Socket, program: &[libc::sock_filter]) -> io::Result<()> {
    let program: Vec<SockFilter> = program
        .iter()
        .map(|step| SockFilter::new(step.code, step.jt, step.jf, step.k))
        .collect();
    socket.attach_filter(&program)
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn bind(socket: &Socket, link_index: u32) -> io::Result<()> {
    // SAFETY: all zero is a valid sockaddr_ll.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as libc::c_ushort;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = link_index as libc::c_int;
    // SAFETY: the pointer and the length describe `address`, which outlives the call.
    let outcome = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of_val(&address) as libc::socklen_t,
        )
    };
    if outcome == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
