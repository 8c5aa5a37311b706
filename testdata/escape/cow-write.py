# Nothing that a payload does to the files of a cow mount changes the host's files, their attributes or their times.
# setup: unchanged
# refusal: tmpfs has extended attributes of users only since Linux 6.6, and root's overlays need 5.19
# spec: {"mounts": [{"type": "cow", "source": "$DIR/in", "target": "/input"}]}
# off: spec={"mounts": [{"type": "bind", "source": "$DIR/in", "target": "/input", "writable": true}]}
import ctypes
import fcntl
import mmap
import os
from kernel import *

os.chdir("/input")
before = os.open("file", os.O_RDONLY)  # of the host's file, until it is copied
path = os.open("file", os.O_PATH)


def again(fd, flags):
    """Open the file of a descriptor once more."""
    return os.open(f"/proc/self/fd/{fd}", flags)


def shared():
    """Write to a shared mapping."""
    fd = again(path, os.O_RDWR)
    with mmap.mmap(fd, 4, mmap.MAP_SHARED) as m:
        m[:4] = b"MMAP"
        m.flush()


def mapped_before():
    """Make a private mapping of the descriptor from before writable and shared."""
    with mmap.mmap(before, 4, mmap.MAP_SHARED, mmap.PROT_READ) as m:
        LIBC.mprotect(ctypes.c_void_p(0), 4096, 3)
        m[:4] = b"MMAP"


def flags():
    """FS_IOC_SETFLAGS: immutable, then append only, then no atime."""
    for bit in (0x10, 0x20, 0x80):
        for fd in (before, os.open("file", os.O_RDONLY)):
            try:
                fcntl.ioctl(fd, 0x40086602, ctypes.c_long(bit))
            except OSError:
                pass


def linked():
    """Give a file without a name one, and exchange it with the host's."""
    fd = os.open(".", os.O_TMPFILE | os.O_RDWR)
    os.write(fd, b"tmpfile")
    os.link(f"/proc/self/fd/{fd}", "tmp", follow_symlinks=True)
    LIBC.renameat2(-100, b"tmp", -100, b"file", 2)  # RENAME_EXCHANGE


def linked_path():
    """Give the host's file another name by its descriptor, and write to that."""
    os.link(f"/proc/self/fd/{path}", "by-path", follow_symlinks=True)
    open("by-path", "a").write("linked")


for attempt in (
    lambda: os.utime(before, (1, 1)), lambda: os.utime(f"/proc/self/fd/{path}", (1, 1)),
    lambda: os.fchmod(before, 0o777), lambda: os.chmod(f"/proc/self/fd/{path}", 0o777), lambda: os.chmod(".", 0o777),
    lambda: os.fchown(before, -1, os.getgid()), lambda: os.setxattr(before, "user.a", b"b"),
    lambda: os.setxattr("file", "user.overlay.origin", b"b"), lambda: os.removexattr(before, "user.keep"), flags,
    lambda: os.ftruncate(again(before, os.O_WRONLY), 1), lambda: os.write(again(before, os.O_WRONLY), b"written"),
    lambda: os.write(again(path, os.O_WRONLY | os.O_APPEND), b"appended"),
    lambda: os.posix_fallocate(again(path, os.O_RDWR), 0, 1 << 20), lambda: LIBC.fallocate(again(path, os.O_RDWR), 3, 0, 4), shared, mapped_before,
    linked_path, lambda: os.link("file", "hard"), lambda: open("hard", "w").write("linked"), lambda: os.rename("file", "moved"),
    lambda: os.rename("moved", "file"), linked, lambda: os.truncate("file", 0), lambda: os.unlink("file"),
    lambda: os.mkdir("file"), lambda: os.mkdir("new"), lambda: os.rename("new", "other"),
    lambda: os.symlink("x", "link"),
    lambda: os.mknod("null", 0o020666, 0), lambda: os.sendfile(again(before, os.O_WRONLY), before, 0, 4),
    lambda: fcntl.fcntl(before, 1024, 0),  # F_SETLEASE, which the host would feel
):
    try:
        attempt()
    except (OSError, TypeError, ValueError):
        pass
contained("done: the host is looked at")
