//! Nodes for the tests: network namespaces that are held by a thread and by nothing else.

use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, unshare};

pub const DEADLINE: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

/// A network namespace; what is run in it stays in it. Gone when it is dropped.
pub struct Node {
    pub path: String,
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Node {
    /// None where this user may not make namespaces: the test is skipped.
    pub fn make() -> Option<Self> {
        if !nix::unistd::geteuid().is_root() {
            eprintln!("skipped: needs root");
            return None;
        }
        let (jobs, work) = channel::<Job>();
        let (tell, told) = channel();
        let thread = std::thread::spawn(move || {
            unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
            // nothing but what a test sends shall cross the cable
            std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1").expect("no IPv6");
            tell.send(format!(
                "/proc/{}/task/{}/ns/net",
                std::process::id(),
                nix::unistd::gettid()
            ))
            .expect("the test waits");
            for job in work {
                job();
            }
        });
        Some(Self {
            path: told.recv().expect("the node's thread"),
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    pub fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        let (tell, told) = channel();
        let job = Box::new(move || tell.send(job()).expect("the test waits"));
        self.jobs
            .as_ref()
            .expect("alive")
            .send(job)
            .expect("the node's thread");
        told.recv().expect("the job ends")
    }

    pub fn has(&self, device: &str) -> bool {
        let name = std::ffi::CString::new(device).expect("a name");
        // SAFETY: a zero-terminated name.
        self.run(move || unsafe { libc::if_nametoindex(name.as_ptr()) } != 0)
    }

    pub fn bring_up(&self, device: &'static str) {
        self.run(move || {
            request(device, libc::SIOCSIFFLAGS as libc::Ioctl, |r| {
                r.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
            });
        });
    }

    /// Remove the device, as `ip link del` does.
    pub fn remove(&self, device: &'static str) {
        let name = std::ffi::CString::new(device).expect("a name");
        self.run(move || {
            // SAFETY: plain system calls on a descriptor of our own; the name ends with a zero.
            let (socket, index) = unsafe {
                let socket = libc::socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE);
                assert!(socket >= 0, "{}", std::io::Error::last_os_error());
                (
                    OwnedFd::from_raw_fd(socket),
                    libc::if_nametoindex(name.as_ptr()),
                )
            };
            // nlmsghdr: length, type, flags, sequence, port; ifinfomsg: family, type, index, ...
            let mut message = Vec::new();
            message.extend(32u32.to_ne_bytes());
            message.extend(libc::RTM_DELLINK.to_ne_bytes());
            message.extend(((libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16).to_ne_bytes());
            message.extend([0; 12]);
            message.extend(index.to_ne_bytes());
            message.extend([0; 8]);
            assert_eq!(nix::unistd::write(&socket, &message), Ok(32));
            let mut answer = [0; 1024];
            nix::unistd::read(&socket, &mut answer).expect("an answer");
            assert_eq!(answer[16..20], [0; 4], "the kernel acknowledged it");
        });
    }

    pub fn take_down(&self, device: &'static str) {
        self.run(move || {
            request(device, libc::SIOCSIFFLAGS as libc::Ioctl, |r| {
                r.ifr_ifru.ifru_flags = 0
            });
        });
    }

    pub fn mtu(&self, device: &'static str) -> i32 {
        self.run(move || {
            let answer = request(device, libc::SIOCGIFMTU as libc::Ioctl, |_| {});
            // SAFETY: the kernel has filled in the MTU.
            unsafe { answer.ifr_ifru.ifru_mtu }
        })
    }

    /// Give the device an address, with the network mask 255.255.255.0.
    pub fn address(&self, device: &'static str, address: Ipv4Addr) {
        self.run(move || {
            for (call, octets) in [
                (libc::SIOCSIFADDR, address.octets()),
                (libc::SIOCSIFNETMASK, [255, 255, 255, 0]),
            ] {
                request(device, call as libc::Ioctl, |r| {
                    let address = libc::sockaddr_in {
                        sin_family: libc::AF_INET as libc::sa_family_t,
                        sin_port: 0,
                        sin_addr: libc::in_addr {
                            s_addr: u32::from_ne_bytes(octets),
                        },
                        sin_zero: [0; 8],
                    };
                    // SAFETY: both are 16 bytes of plain data.
                    r.ifr_ifru.ifru_addr = unsafe {
                        std::mem::transmute::<libc::sockaddr_in, libc::sockaddr>(address)
                    };
                });
            }
        });
    }

    /// A socket that sends and sees whole frames on the device.
    pub fn tap(&self, device: &'static str) -> Frames {
        self.run(move || Frames::open(device))
    }
}

impl std::ops::Drop for Node {
    fn drop(&mut self) {
        self.jobs.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn request(device: &str, call: libc::Ioctl, fill: impl FnOnce(&mut libc::ifreq)) -> libc::ifreq {
    // SAFETY: ifreq is plain data, and the calls read and write one of it.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
            *to = from as libc::c_char;
        }
        fill(&mut request);
        let socket = OwnedFd::from_raw_fd(libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0));
        let result = libc::ioctl(socket.as_raw_fd(), call, &raw mut request);
        assert_eq!(result, 0, "{device}: {}", std::io::Error::last_os_error());
        request
    }
}

/// IEEE 802's local experimental EtherType: no stack answers it.
const EXPERIMENTAL: u16 = 0x88b5;

/// A packet socket on a device.
pub struct Frames(OwnedFd);

impl Frames {
    fn open(device: &str) -> Self {
        let name = std::ffi::CString::new(device).expect("a name");
        // SAFETY: plain system calls; the address is a packet address of its full length.
        unsafe {
            let protocol = (libc::ETH_P_ALL as u16).to_be();
            let socket = libc::socket(libc::AF_PACKET, libc::SOCK_RAW, i32::from(protocol));
            assert!(socket >= 0, "{}", std::io::Error::last_os_error());
            let socket = OwnedFd::from_raw_fd(socket);
            let mut address: libc::sockaddr_ll = std::mem::zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_protocol = protocol;
            address.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
            let length = size_of_val(&address) as libc::socklen_t;
            let bound = libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length);
            assert_eq!(bound, 0, "{}", std::io::Error::last_os_error());
            let room: libc::c_int = 64 << 20;
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_RCVBUFFORCE,
                (&raw const room).cast(),
                size_of_val(&room) as libc::socklen_t,
            );
            Self(socket)
        }
    }

    /// Send a broadcast frame of `length` bytes that carries a number.
    pub fn send(&self, number: u32, length: usize) {
        let mut frame = vec![0xff; 6];
        frame.extend([2, 0, 0, 0, 0, 1]);
        frame.extend(EXPERIMENTAL.to_be_bytes());
        frame.extend(number.to_be_bytes());
        frame.resize(length, 0xa5);
        let sent = nix::unistd::write(&self.0, &frame);
        assert_eq!(sent, Ok(length));
    }

    /// The next frame that came from the other side; None when none comes within the time.
    pub fn receive(&self, within: Duration) -> Option<Vec<u8>> {
        let end = Instant::now() + within;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let mut watched = [nix::poll::PollFd::new(
                std::os::fd::AsFd::as_fd(&self.0),
                nix::poll::PollFlags::POLLIN,
            )];
            let timeout = nix::sys::time::TimeSpec::from(left);
            if nix::poll::ppoll(&mut watched, Some(timeout), None).expect("poll") == 0 {
                return None;
            }
            let mut frame = vec![0u8; 70_000];
            // SAFETY: the buffers are as long as they are said to be.
            unsafe {
                let mut from: libc::sockaddr_ll = std::mem::zeroed();
                let mut size = size_of_val(&from) as libc::socklen_t;
                let length = libc::recvfrom(
                    self.0.as_raw_fd(),
                    frame.as_mut_ptr().cast(),
                    frame.len(),
                    0,
                    (&raw mut from).cast(),
                    &raw mut size,
                );
                assert!(length >= 0, "{}", std::io::Error::last_os_error());
                frame.truncate(length as usize);
                if from.sll_pkttype != libc::PACKET_OUTGOING {
                    return Some(frame);
                }
            }
        }
    }

    /// The number of the next numbered frame.
    pub fn number(&self, within: Duration) -> Option<u32> {
        let end = Instant::now() + within;
        loop {
            let frame = self.receive(end.saturating_duration_since(Instant::now()))?;
            if frame[12..14] == EXPERIMENTAL.to_be_bytes() {
                return Some(u32::from_be_bytes(
                    frame[14..18].try_into().expect("four bytes"),
                ));
            }
        }
    }
}

/// Cargo tells tests where the program is; beside an example it is one folder up.
fn program() -> std::path::PathBuf {
    option_env!("CARGO_BIN_EXE_culvert-wire").map_or_else(
        || {
            let own = std::env::current_exe().expect("a path");
            own.ancestors()
                .nth(2)
                .expect("a folder")
                .join("culvert-wire")
        },
        std::path::PathBuf::from,
    )
}

/// A running culvert-wire.
pub struct Wire {
    pub child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Wire {
    pub fn command(a: &str, b: &str, options: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(["cable", "--a", a, "--b", b]).args(options);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// A program without a cable.
    pub fn many() -> Self {
        let mut wire = Self::spawn(Command::new(program()).arg("cables"));
        assert_eq!(wire.line()["event"], "ready");
        wire
    }

    fn spawn(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a wire");
        let output = child.stdout.take().expect("a pipe");
        Self {
            child,
            lines: BufReader::new(output).lines(),
        }
    }

    /// A cable u0 to u0 between the nodes, both ends up.
    pub fn connect(a: &Node, b: &Node, options: &[&str]) -> Self {
        let ends = [format!("{}:u0", a.path), format!("{}:u0", b.path)];
        let mut wire = Self::spawn(&mut Self::command(&ends[0], &ends[1], options));
        assert_eq!(wire.line()["event"], "ready");
        a.bring_up("u0");
        b.bring_up("u0");
        wire
    }

    pub fn line(&mut self) -> serde_json::Value {
        let line = self.lines.next().expect("a line").expect("text");
        serde_json::from_str(&line).expect("JSON")
    }

    /// Say a command; the answer to it.
    pub fn say(&mut self, command: &str) -> serde_json::Value {
        let input = self.child.stdin.as_mut().expect("a pipe");
        std::io::Write::write_all(input, format!("{command}\n").as_bytes()).expect("it listens");
        loop {
            let line = self.line();
            if line["event"] != "statistics" || command.contains("statistics") {
                return line;
            }
        }
    }

    pub fn signal(&self, signal: nix::sys::signal::Signal) {
        let pid = nix::unistd::Pid::from_raw(self.child.id() as i32);
        nix::sys::signal::kill(pid, signal).expect("it runs");
    }

    /// All that it writes to standard error.
    pub fn errors(&mut self) -> String {
        let mut text = String::new();
        let mut pipe = self.child.stderr.take().expect("a pipe");
        std::io::Read::read_to_string(&mut pipe, &mut text).expect("text");
        text
    }

    /// Close our end of its output.
    pub fn close_output(&mut self) {
        let (reader, _) = std::io::pipe().expect("a pipe");
        let empty = ChildStdout::from(OwnedFd::from(reader));
        self.lines = BufReader::new(empty).lines();
    }

    /// The last line and the exit code.
    pub fn end(mut self) -> (serde_json::Value, Option<i32>) {
        drop(self.child.stdin.take());
        let mut last = serde_json::Value::Null;
        for line in &mut self.lines {
            last = serde_json::from_str(&line.expect("text")).expect("JSON");
        }
        let status = self.child.wait().expect("it ends");
        (last, status.code())
    }
}

impl std::ops::Drop for Wire {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
