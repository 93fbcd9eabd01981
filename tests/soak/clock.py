"""CLOCK_REALTIME that can be set for the programs of one lab.

The clock has no namespace, and a real step would reach the whole machine. A small library that the
programs of the lab's nodes load (ld.so(8), LD_PRELOAD) adds a number in shared memory to what the
kernel returns. Programs that are linked statically keep the machine's clock.
"""

from __future__ import annotations

import mmap
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from culvert.labs.netns.lab import NetnsLab

_OFFSET = struct.Struct("=q")
_VARIABLE = "CULVERT_TEST_CLOCK"
_SOURCE = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/errqueue.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long long *offset_ns;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("CULVERT_TEST_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *shared = file < 0 ? MAP_FAILED : mmap(0, 8, PROT_READ, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    if (shared != MAP_FAILED) offset_ns = shared;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int failed = syscall(SYS_clock_gettime, clock, time);
    if (failed || !offset_ns || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
        return failed;
    long long ns = time->tv_sec * 1000000000LL + time->tv_nsec + *offset_ns;
    time->tv_sec = ns / 1000000000LL;
    time->tv_nsec = ns % 1000000000LL;
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec time;
    if (clock_gettime(CLOCK_REALTIME, &time)) return -1;
    now->tv_sec = time.tv_sec;
    now->tv_usec = time.tv_nsec / 1000;
    return 0;
}

/* The kernel's stamps of packets are of the same clock. */
static void move_stamps(struct msghdr *message) {
    struct cmsghdr *each;
    if (!offset_ns) return;
    for (each = CMSG_FIRSTHDR(message); each; each = CMSG_NXTHDR(message, each)) {
        struct timespec stamp;
        int kind = each->cmsg_type;
        if (each->cmsg_level != SOL_SOCKET) continue;
        if (kind != SCM_TIMESTAMPNS && kind != SCM_TIMESTAMPING) continue;
        memcpy(&stamp, CMSG_DATA(each), sizeof stamp);
        if (!stamp.tv_sec) continue;
        long long ns = stamp.tv_sec * 1000000000LL + stamp.tv_nsec + *offset_ns;
        stamp.tv_sec = ns / 1000000000LL;
        stamp.tv_nsec = ns % 1000000000LL;
        memcpy(CMSG_DATA(each), &stamp, sizeof stamp);
    }
}

ssize_t recvmsg(int socket, struct msghdr *message, int flags) {
    ssize_t length = syscall(SYS_recvmsg, socket, message, flags);
    if (length >= 0) move_stamps(message);
    return length;
}

int recvmmsg(int socket, struct mmsghdr *messages, unsigned count, int flags,
             struct timespec *timeout) {
    int found = syscall(SYS_recvmmsg, socket, messages, count, flags, timeout);
    for (int place = 0; place < found; place++) move_stamps(&messages[place].msg_hdr);
    return found;
}

time_t time(time_t *where) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (where) *where = now.tv_sec;
    return now.tv_sec;
}
"""


@dataclass(frozen=True)
class Clock:
    """The library, and the file with the offset; every program that was started with both sees a
    step at once."""

    library: Path
    offset: Path

    def step(self, ns: int) -> None:
        """Set it ahead, or back where ``ns`` is negative."""
        with self.offset.open("r+b") as file, mmap.mmap(file.fileno(), _OFFSET.size) as shared:
            (now,) = _OFFSET.unpack(shared[:])
            shared[:] = _OFFSET.pack(now + ns)

    def drive(self, lab: NetnsLab) -> None:
        """Let the programs that are started on an open lab's nodes from now on see it."""
        words = {"LD_PRELOAD": str(self.library), _VARIABLE: str(self.offset)}
        for node in lab.nodes.values():
            launcher = node.programs.launcher
            node.programs.launcher = replace(
                launcher, environment={**launcher.environment, **words}
            )


@contextmanager
def settable_clock() -> Iterator[Clock]:
    """Compile the library. Raises OSError without a C compiler."""
    with tempfile.TemporaryDirectory(prefix="culvert-clock-") as name:
        directory = Path(name)
        directory.chmod(0o755)
        clock = Clock(directory / "clock.so", directory / "offset")
        clock.offset.write_bytes(_OFFSET.pack(0))
        compiler = shutil.which("cc") or "cc"
        words = [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-x", "c", "-"]
        subprocess.run([*words, "-o", clock.library], input=_SOURCE, text=True, check=True)
        yield clock
