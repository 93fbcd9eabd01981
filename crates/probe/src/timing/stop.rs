//! Asking a task that runs to begin its work, and to end, whatever it is waiting for.

use crate::timing::clock;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::EventFd;
use nix::sys::socket::{Shutdown, shutdown};
use nix::sys::time::TimeSpec;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Requests to begin and to end, shared by the agent and the threads of one task.
///
/// A thread that blocks in a socket call registers the socket with [`Stop::interrupts`]; shutting
/// the socket down wakes it without the extra system call that polling would cost per packet.
pub struct Stop {
    flag: AtomicBool,
    /// Of packets that a receiver need not wait longer than for; `u64::MAX`: not known.
    expected: AtomicU64,
    event: EventFd,
    /// When the work begins; `u64::MAX`: not known yet.
    begin_ns: AtomicU64,
    begin: EventFd,
    sockets: Mutex<HashMap<RawFd, OwnedFd>>,
}

impl Stop {
    pub fn new() -> io::Result<Stop> {
        Ok(Stop {
            flag: AtomicBool::new(false),
            expected: AtomicU64::new(u64::MAX),
            event: EventFd::new()?,
            begin_ns: AtomicU64::new(u64::MAX),
            begin: EventFd::new()?,
            sockets: Mutex::default(),
        })
    }

    /// Asks the task to end. Does no harm if it has.
    pub fn request(&self) {
        self.flag.store(true, Ordering::SeqCst);
        // The counter can't overflow: one is added per request.
        let _ = self.event.write(1);
        for socket in self.lock().values() {
            // An unconnected socket answers ENOTCONN and is woken all the same.
            let _ = shutdown(socket.as_raw_fd(), Shutdown::Read);
        }
    }

    /// Asks a task that waits for it to begin its work at that time.
    pub fn begin(&self, monotonic_ns: u64) {
        let known_ns = monotonic_ns.min(u64::MAX - 1);
        self.begin_ns.store(known_ns, Ordering::SeqCst);
        let _ = self.begin.write(1);
    }

    /// When the work begins, as soon as that is known.
    pub fn begins_ns(&self) -> Option<u64> {
        Some(self.begin_ns.load(Ordering::Relaxed)).filter(|&begin_ns| begin_ns != u64::MAX)
    }

    /// Waits until it is known (the time), or until the task is requested to end (none).
    pub fn wait_for_begin(&self) -> Option<u64> {
        while !self.requested() {
            let begins_ns = self.begins_ns();
            if begins_ns.is_some() {
                return begins_ns;
            }
            self.wait_readable(self.begin.as_fd(), u64::MAX);
        }
        None
    }

    /// Reports the total number of packets to a receiver before it is requested to end.
    pub fn expect(&self, packets: u64) {
        self.expected.store(packets, Ordering::SeqCst);
    }

    /// Whether so many packets are all that there are.
    pub fn is_all(&self, packets: u64) -> bool {
        packets >= self.expected.load(Ordering::SeqCst)
    }

    pub fn requested(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// A descriptor that can be read from the request on.
    pub fn event(&self) -> io::Result<OwnedFd> {
        self.event.as_fd().try_clone_to_owned()
    }

    /// As long as the returned value lives, a request to end wakes calls that block on the socket.
    pub fn interrupts(&self, socket: impl AsFd) -> io::Result<Interrupt<'_>> {
        let copy = socket.as_fd().try_clone_to_owned()?;
        let key = copy.as_raw_fd();
        self.lock().insert(key, copy);
        if self.requested() {
            self.request();
        }
        Ok(Interrupt { stop: self, key })
    }

    /// Waits until that time (true) or until the task is requested to end (false).
    pub fn wait_until(&self, monotonic_ns: u64) -> bool {
        loop {
            if self.requested() {
                return false;
            }
            let now_ns = clock::monotonic_ns();
            if now_ns >= monotonic_ns {
                return true;
            }
            self.poll(&mut [self.poll_fd()], monotonic_ns - now_ns);
        }
    }

    /// Waits until the descriptor can be read (true), or for a request to end or the time (false).
    pub fn wait_readable(&self, descriptor: BorrowedFd<'_>, until_monotonic_ns: u64) -> bool {
        let left_ns = until_monotonic_ns.saturating_sub(clock::monotonic_ns());
        let mut both = [PollFd::new(descriptor, PollFlags::POLLIN), self.poll_fd()];
        self.poll(&mut both, left_ns);
        !self.requested() && both[0].any().unwrap_or(false)
    }

    /// Waits until one of the descriptors can be read, for a request to end, or for the time.
    pub fn wait_any_readable<'a>(
        &'a self,
        descriptors: &mut Vec<PollFd<'a>>,
        until_monotonic_ns: u64,
    ) {
        let left_ns = until_monotonic_ns.saturating_sub(clock::monotonic_ns());
        descriptors.push(self.poll_fd());
        self.poll(descriptors, left_ns);
    }

    fn poll_fd(&self) -> PollFd<'_> {
        PollFd::new(self.event.as_fd(), PollFlags::POLLIN)
    }

    fn poll(&self, descriptors: &mut [PollFd<'_>], timeout_ns: u64) {
        let timeout = TimeSpec::from_duration(Duration::from_nanos(timeout_ns));
        // A signal ends the wait early; callers read the clock again.
        let _ = ppoll(descriptors, Some(timeout), None);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<RawFd, OwnedFd>> {
        self.sockets
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// A socket that a request to end wakes. Its copy of the socket is closed when this is dropped.
pub struct Interrupt<'a> {
    stop: &'a Stop,
    key: RawFd,
}

impl Drop for Interrupt<'_> {
    fn drop(&mut self) {
        self.stop.lock().remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::Stop;
    use std::net::UdpSocket;

    #[test]
    fn wakes_a_thread_that_blocks_on_a_socket() {
        let stop = Stop::new().unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let _interrupt = stop.interrupts(&socket).unwrap();
        std::thread::scope(|scope| {
            let blocked = scope.spawn(|| socket.recv(&mut [0; 8]));
            stop.request();
            assert_eq!(blocked.join().unwrap().unwrap(), 0);
        });
    }

    #[test]
    fn a_socket_registered_after_the_request_is_woken_too() {
        let stop = Stop::new().unwrap();
        stop.request();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let _interrupt = stop.interrupts(&socket).unwrap();
        assert_eq!(socket.recv(&mut [0; 8]).unwrap(), 0);
    }

    #[test]
    fn a_task_waits_for_its_beginning() {
        let stop = Stop::new().unwrap();
        assert_eq!(stop.begins_ns(), None);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| stop.wait_for_begin());
            stop.begin(17);
            assert_eq!(waiting.join().unwrap(), Some(17));
        });
        assert_eq!(stop.begins_ns(), Some(17));
    }

    #[test]
    fn a_task_that_is_to_end_does_not_begin() {
        let stop = Stop::new().unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| stop.wait_for_begin());
            stop.request();
            assert_eq!(waiting.join().unwrap(), None);
        });
    }

    #[test]
    fn a_wait_ends_at_the_request() {
        let stop = Stop::new().unwrap();
        stop.request();
        assert!(!stop.wait_until(u64::MAX));
    }
}
