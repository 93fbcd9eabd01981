//! The kernel's `struct tcp_info` (`<linux/tcp.h>`), all of it.

use serde::Serialize;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Fields as in the kernel, times in microseconds unless named otherwise. What an older kernel does
/// not know stays zero.
#[derive(Debug, Default, Clone, Copy, Serialize)]
#[repr(C)]
pub struct TcpInfo {
    pub state: u8,
    pub ca_state: u8,
    pub retransmits: u8,
    pub probes: u8,
    pub backoff: u8,
    pub options: u8,
    /// Two of four bits: the window scales sent and received.
    pub window_scales: u8,
    pub flags: u8,

    pub rto: u32,
    pub ato: u32,
    pub snd_mss: u32,
    pub rcv_mss: u32,

    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    pub fackets: u32,

    pub last_data_sent_ms: u32,
    pub last_ack_sent_ms: u32,
    pub last_data_recv_ms: u32,
    pub last_ack_recv_ms: u32,

    pub pmtu: u32,
    pub rcv_ssthresh: u32,
    pub rtt: u32,
    pub rttvar: u32,
    pub snd_ssthresh: u32,
    pub snd_cwnd: u32,
    pub advmss: u32,
    pub reordering: u32,

    pub rcv_rtt: u32,
    pub rcv_space: u32,
    pub total_retrans: u32,

    /// Bytes per second; all ones means no limit.
    pub pacing_rate: u64,
    pub max_pacing_rate: u64,
    /// Includes one for the SYN, and one for the FIN.
    pub bytes_acked: u64,
    pub bytes_received: u64,
    pub segs_out: u32,
    pub segs_in: u32,

    pub notsent_bytes: u32,
    pub min_rtt: u32,
    pub data_segs_in: u32,
    pub data_segs_out: u32,

    /// Bytes per second.
    pub delivery_rate: u64,

    pub busy_time: u64,
    pub rwnd_limited: u64,
    pub sndbuf_limited: u64,

    pub delivered: u32,
    pub delivered_ce: u32,

    pub bytes_sent: u64,
    pub bytes_retrans: u64,
    pub dsack_dups: u32,
    pub reord_seen: u32,

    pub rcv_ooopack: u32,
    pub snd_wnd: u32,
}

impl TcpInfo {
    /// Into the sum of several connections, which is none before the first.
    pub fn add_to(&self, sum: &mut Option<TcpInfo>) {
        *sum = Some(sum.map_or(*self, |sum| sum.plus(self)));
    }

    /// Two connections as if they were one: what counts is added, the rest is that of the first.
    pub fn plus(&self, other: &TcpInfo) -> TcpInfo {
        TcpInfo {
            unacked: self.unacked + other.unacked,
            snd_cwnd: self.snd_cwnd + other.snd_cwnd,
            total_retrans: self.total_retrans + other.total_retrans,
            bytes_acked: self.bytes_acked + other.bytes_acked,
            bytes_received: self.bytes_received + other.bytes_received,
            segs_out: self.segs_out + other.segs_out,
            segs_in: self.segs_in + other.segs_in,
            notsent_bytes: self.notsent_bytes + other.notsent_bytes,
            data_segs_in: self.data_segs_in + other.data_segs_in,
            data_segs_out: self.data_segs_out + other.data_segs_out,
            delivery_rate: self.delivery_rate + other.delivery_rate,
            delivered: self.delivered + other.delivered,
            delivered_ce: self.delivered_ce + other.delivered_ce,
            bytes_sent: self.bytes_sent + other.bytes_sent,
            bytes_retrans: self.bytes_retrans + other.bytes_retrans,
            dsack_dups: self.dsack_dups + other.dsack_dups,
            reord_seen: self.reord_seen + other.reord_seen,
            rcv_ooopack: self.rcv_ooopack + other.rcv_ooopack,
            ..*self
        }
    }

    pub fn of(socket: &impl AsFd) -> io::Result<TcpInfo> {
        let mut info = TcpInfo::default();
        let mut length = size_of::<TcpInfo>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes, the size of `info`, whose fields are
        // integers: every bit pattern is valid. An older kernel writes fewer.
        let outcome = unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                (&raw mut info).cast(),
                &raw mut length,
            )
        };
        if outcome == 0 {
            Ok(info)
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TcpInfo;
    use std::io::{Read, Write};
    use std::mem::offset_of;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn offsets_are_those_of_the_kernel() {
        assert_eq!(offset_of!(TcpInfo, pacing_rate), 104);
        assert_eq!(offset_of!(TcpInfo, bytes_acked), 120);
        assert_eq!(offset_of!(TcpInfo, delivery_rate), 160);
        assert_eq!(offset_of!(TcpInfo, bytes_sent), 200);
        assert_eq!(size_of::<TcpInfo>(), 232);
    }

    #[test]
    fn acknowledged_bytes_are_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        sender.write_all(&[1; 1000]).unwrap();
        receiver.read_exact(&mut [0; 1000]).unwrap();
        let received = TcpInfo::of(&receiver).unwrap();
        assert_eq!(received.bytes_received, 1000);
        assert_eq!(TcpInfo::of(&sender).unwrap().bytes_sent, 1000);
    }
}
