"""Processes, or threads, that trace each other's exit (PTRACE_O_TRACEEXIT) in a ring: SIGKILL does not end them, for ever.
For guests alone: ring.py HOW MEMBERS, where HOW is seize, options, old or thread, or child, which traces process 1."""
import mmap
import os
import signal
import struct
import sys
import threading
from kernel import *

SEIZE, SETOPTIONS, INTERRUPT, CONT, EXIT = 0x4206, 0x4200, 0x4207, 7, 0x40
how, n = sys.argv[1], int(sys.argv[2])
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # a tracee stops for each that it takes
ids = mmap.mmap(-1, 4096)  # who each member is, and behind them whose turn it is


def get(i):
    return struct.unpack_from("i", ids, 4 * i)[0]


def put(i, v):
    struct.pack_into("i", ids, 4 * i, v)


def trace(pid):
    r = call("ptrace", SEIZE, pid, 0, 0 if how in ("options", "old") else EXIT)
    if how in ("options", "old"):
        call("ptrace", INTERRUPT, pid, 0, 0)
        os.waitpid(pid, 0x40000000)  # __WALL
        r = call("ptrace", SETOPTIONS if how == "options" else 21, pid, 0, EXIT)
        call("ptrace", CONT, pid, 0, 0)
    return r


def member(i):
    put(i, threading.get_native_id())
    while get(n) != i or not all(get(k) for k in range(n)):
        pass
    r = trace(get((i + 1) % n))
    put(n + 1, r if r else get(n + 1))
    put(n, i + 1)
    while True:
        signal.sigwait([signal.SIGUSR1])


if how == "child":
    if os.fork() == 0:
        put(n + 1, trace(1))
        put(n, n)
        signal.sigwait([signal.SIGUSR1])
else:
    for i in range(n):
        if os.fork() == 0:
            if how == "thread":
                threading.Thread(target=member, args=(i,)).start()
                signal.sigwait([signal.SIGUSR1])
            member(i)
while get(n) < n:
    pass
print("the ring stands" if get(n + 1) == 0 else "refused: " + name(get(n + 1)), flush=True)
if get(n + 1):
    os._exit(3)
signal.sigwait([signal.SIGUSR1])
