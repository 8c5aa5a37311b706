"""Raw system calls and the two verdicts, for the attacks in testdata/escape."""
import ctypes
import errno
import os
import sys

LIBC = ctypes.CDLL(None, use_errno=True)

# System calls of x86-64.
NR = dict(
    write=1, open=2, ioctl=16, shmget=29, shmat=30, socket=41, clone=56, getpid=39, msgget=68, msgrcv=70, creat=85, chmod=90, fchmod=91,
    syslog=103, ptrace=101, capget=125, capset=126, mknod=133, personality=135, setpriority=141, sched_setscheduler=144,
    modify_ldt=154, pivot_root=155, prctl=157, adjtimex=159, chroot=161, acct=163, settimeofday=164, mount=165,
    umount2=166, swapon=167, reboot=169, sethostname=170, iopl=172, ioperm=173, init_module=175, delete_module=176,
    quotactl=179, lookup_dcookie=212, clock_settime=227, mq_open=240, kexec_load=246, add_key=248, request_key=249,
    keyctl=250, openat=257, migrate_pages=256, mknodat=259, fchmodat=268, unshare=272, move_pages=279, perf_event_open=298,
    fanotify_init=300, name_to_handle_at=303, open_by_handle_at=304, setns=308, process_vm_readv=310,
    finit_module=313, bpf=321, userfaultfd=323, io_uring_setup=425, open_tree=428, move_mount=429, fsopen=430,
    pidfd_send_signal=424, clone3=435, pidfd_open=434, openat2=437, pidfd_getfd=438, mount_setattr=442, fchmodat2=452,
)


def call(name, *args):
    """Perform a system call, by name or number, and return its result or -errno."""
    nr = NR[name] if isinstance(name, str) else name
    ctypes.set_errno(0)
    LIBC.syscall.restype = ctypes.c_long
    raw = [a if isinstance(a, (bytes, ctypes.Array, ctypes.Structure)) else ctypes.c_ulong(a & (1 << 64) - 1) for a in args]
    r = LIBC.syscall(ctypes.c_long(nr), *raw)
    return -ctypes.get_errno() if r == -1 else r


def contained(why):
    """The jail has held."""
    print("CONTAINED", why, flush=True)
    os._exit(0)


def escaped(evidence):
    """The jail has not held."""
    print("ESCAPED", evidence, flush=True)
    os._exit(1)


def name(r):
    """Name the result of call."""
    return errno.errorcode.get(-r, str(r)) if r < 0 else str(r)


def expect(what, r, *errnos):
    """Contained if the result is one of these errors, by default EPERM."""
    if -r in (errnos or (errno.EPERM,)):
        contained(f"{what}: {name(r)}")
    escaped(f"{what} gave {name(r)}")


def denied(what, action, *args):
    """Contained if the action raises OSError."""
    try:
        got = action(*args)
    except OSError as e:
        contained(f"{what}: {errno.errorcode.get(e.errno, e.errno)}")
    escaped(f"{what} gave {got!r:.200}")


def refused(kind, e, trace):
    """Say that the jail refuses what the attack needs before it begins: a filter that is tighter than the default."""
    if isinstance(e, OSError) and e.errno in (errno.EPERM, errno.ENOSYS):
        print("REFUSED", e, flush=True)
        os._exit(3)
    sys.__excepthook__(kind, e, trace)


sys.excepthook = refused


def in_child(action):
    """Run action in a child; give its wait status."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(action() or 0)
        except BaseException:
            os._exit(99)
    return os.waitpid(pid, 0)[1]
