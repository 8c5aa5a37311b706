#!/usr/bin/env python3
"""Compare brig's isolate with isolate itself: scripts/isolate-compare.py ISOLATE BRIG [--cg] [--sets NAME,...] [PAYLOAD...]

Runs each payload under each set of options with both programs, and compares the exit code, the keys and values of the meta file
(times, memory and context switches by their presence alone, a time also within a tolerance) and what the program has printed.
ISOLATE is isolate 2.6 or newer, built by whoever compares, with its configuration; BRIG is a brig with that of the variable
BRIG_ISOLATE_CONFIG. Call it as root in a mount namespace of its own: unshare -m. With --cg both use control groups, which for
isolate must be version 2: ISOLATE=PATH scripts/vm/run.sh 6.12 isolate makes them in a guest. --slow multiplies each time limit.
"""
import argparse, os, subprocess, sys, tempfile

PY = "/usr/bin/python3"


def sh(text):
    return ["/bin/sh", "-c", text]


def py(text):
    return [PY, "-c", text]


# name: the command. Each must do the same wherever it runs.
PAYLOADS = {
    "true": ["/bin/true"], "false": ["/bin/false"],
    "exit 3": sh("exit 3"), "exit 127": sh("exit 127"), "exit 255": sh("exit 255"),
    "missing": ["/nowhere/x"], "missing in box": ["./x"], "no slash": ["true"], "not executable": ["/box/text"],
    "directory": ["/box"], "no format": ["/box/empty"], "script": ["/box/script"], "bare script": ["script"],
    "SEGV": sh("kill -SEGV $$"), "KILL": sh("kill -KILL $$"), "TERM": sh("kill -TERM $$"), "ABRT": sh("kill -ABRT $$"),
    "FPE": sh("kill -FPE $$"), "PIPE": sh("kill -PIPE $$"), "USR1": sh("kill -USR1 $$"), "XCPU": sh("kill -XCPU $$"),
    "real-time signal": sh("kill -40 $$"), "ignored signal": sh("trap '' TERM; kill -TERM $$; exit 5"),
    "spin": sh("while :; do :; done"), "sleep": ["/bin/sleep", "200"],
    "spin and ignore": py("import signal\nfor s in range(1, 32):\n  try: signal.signal(s, signal.SIG_IGN)\n  except OSError: pass\n"
                          "while 1: pass"),
    "fork": sh("/bin/true; exit 0"), "two forks": sh("/bin/true & /bin/true & wait"),
    "fork bomb": py("import os\nn=0\ntry:\n  while n<200: \n    if os.fork()==0: os._exit(0)\n    n+=1\nexcept OSError: pass\n"
                    "print(n < 200)"),
    "thread": py("import threading\ntry:\n  t=threading.Thread(target=print); t.start(); t.join(); print('one')\n"
                 "except RuntimeError: print('none')"),
    "orphan": sh("/bin/sleep 200 & exit 0"),
    "memory 64m": py("x=bytearray(64<<20); print(len(x))"), "memory 400m": py("x=bytearray(400<<20); print(len(x))"),
    "mmap 4g": py("import mmap\ntry: mmap.mmap(-1, 4<<30); print('yes')\nexcept OSError as e: print(e.errno)"),
    "deep stack": py("import resource; print(resource.getrlimit(resource.RLIMIT_STACK)[0])"),
    "as": py("import resource; print(resource.getrlimit(resource.RLIMIT_AS)[0])"),
    "nofile": py("import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE))"),
    "fsize": py("import resource; print(resource.getrlimit(resource.RLIMIT_FSIZE)[0])"),
    "memlock": py("import resource; print(resource.getrlimit(resource.RLIMIT_MEMLOCK))"),
    "many files": py("import os\nn=0\ntry:\n  while n<3000: os.open('/dev/null', 0); n+=1\nexcept OSError as e: print(n, e.errno)"),
    "big file": py("f=open('big','wb',0)\nfor i in range(64): f.write(b'x'*65536)\nprint(f.tell())"),
    "pwd": ["/bin/pwd"], "env": ["/usr/bin/env"], "args": sh('printf "%s." "$0" "$@"') + ["a b", "", "--run", "-x"],
    "cat": ["/bin/cat"], "stdin type": py("import os,stat; print(stat.S_IFMT(os.fstat(0).st_mode) in (0o100000, 0o010000, 0o020000))"),
    "stdout and stderr": sh("echo out; echo err >&2; echo out"), "no output": sh("exec >&-; exec 2>&-; exit 2"),
    "write box": sh("echo new >new; cat new; mkdir dir; echo x >dir/y"), "write root": sh("echo x >/x"),
    "write usr": sh("echo x >/usr/x"), "write tmp": sh("echo x >/tmp/x && cat /tmp/x"), "read shadow": ["/bin/cat", "/etc/shadow"],
    "modes": sh("umask; touch u; stat -c %a u; chmod 0 u"),
    "set-user-ID": sh("cp /bin/true u; chmod 4755 u; exit 0"), "links": sh("ln -s /etc/passwd l; mkfifo f; ls -F"),
    "no network": py("import socket\ntry: socket.create_connection(('192.0.2.1', 9), 1)\nexcept OSError as e: print(e.errno)"),
    "loopback": py("import socket\ns=socket.create_server(('127.0.0.1', 0)); c=socket.create_connection(s.getsockname()); print('ok')"),
    "processes": sh("ls /proc | grep -c '^[0-9]'"), "kill all": sh("kill -9 -1; exit 6"), "parent": sh("kill -9 $PPID 2>/dev/null; exit 7"),
    "caps": sh("grep -h CapEff /proc/self/status"), "mount": sh("mount -t tmpfs x /tmp 2>/dev/null; echo $?"),
    "su": sh("setpriv --reuid 0 true 2>/dev/null; test $? -ne 0"),
    "ids differ": sh('test "$(id -u)" -ne 0'), "session": py("import os; print(os.getpgrp() == os.getpid())"),
}

# name: the options, and which files of stdin and stdout they need.
OPTIONS = {
    "plain": [],
    "many": ["-p", "-t0.4", "-w2"],
    "limits": ["-p8", "-t0.3", "-x0.6", "-w3", "-m", "1000000", "-f", "128", "-n", "32", "-k", "16384", "-s"],
    "files": ["-p", "-i", "text", "-o", "out", "-r", "/box/err", "-w1", "-t1"],
    "merged": ["-p", "--stderr-to-stdout", "-o", "out", "-w1", "-t1", "-E", "A=1", "-E", "HOME", "-E", "PATH=/bin", "-c", "/tmp"],
    "judge": ["-p60", "-s", "-t1", "-x0", "-w2", "-k64000", "-f1024", "-E", "HOME=/tmp", "-d", "/etc:noexec"],
}
SLOW = ("-t", "-w", "-x") # what --slow multiplies

# What is meant to differ.
MEANT = {
    "write root": "brig's root is read-only: EROFS instead of EACCES",
    "set-user-ID": "brig's filter refuses to set the bit",
    "processes": "isolate mounts /proc with hidepid=2, so that its own process 1 is hidden",
}
VALUES = ("exitcode", "exitsig", "status", "message", "killed", "cg-oom-killed")


def slower(option, factor):
    return f"{option[:2]}{float(option[2:]) * factor}" if option[:2] in SLOW and option[2:] else option


def run(program, box, options, command, group, work, factor):
    env = dict(os.environ)
    base = [program] + group
    top = subprocess.run(base + ["--init", f"-b{box}"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    for name, text, mode in (("text", "line\n", 0o644), ("empty", "", 0o755), ("script", "#!/bin/sh\necho script\n", 0o755)):
        with open(f"{top}/box/{name}", "w") as f:
            f.write(text)
        os.chmod(f"{top}/box/{name}", mode)
    meta = os.path.join(work, "meta")
    r = subprocess.run(base + [f"-b{box}", "-M", meta] + options + ["--run", "--"] + command, input="input\n", text=True,
                       capture_output=True, env=env, timeout=60 * factor)
    got = {"code": r.returncode, "stdout": r.stdout, "stderr": r.stderr.split("\n")[:-1]}
    lines = dict(line.split(":", 1) for line in open(meta).read().splitlines())
    got["keys"] = sorted(lines)
    got.update({k: lines.get(k) for k in VALUES})
    got["time"] = float(lines.get("time", 0))
    got["wall"] = float(lines.get("time-wall", 0))
    for name in ("out", "err"):
        try:
            got[name] = open(f"{top}/box/{name}").read()
        except OSError:
            got[name] = None
    got["left"] = sorted(os.listdir(f"{top}/box"))
    subprocess.run(base + ["--cleanup", f"-b{box}"], check=True)
    got["stderr"] = [line if not line.startswith("OK (") else "OK" for line in got["stderr"]]
    return got


def main():
    p = argparse.ArgumentParser()
    p.add_argument("isolate")
    p.add_argument("brig")
    p.add_argument("payload", nargs="*")
    p.add_argument("--cg", action="store_true")
    p.add_argument("--sets", default=",".join(OPTIONS))
    p.add_argument("--slow", type=float, default=1)
    a = p.parse_intermixed_args()
    if not os.access(a.isolate, os.X_OK):
        print("skipped: no isolate to compare with; write scripts/isolate-compare.py ISOLATE BRIG")
        return 0
    group = ["--cg", "--cg-mem=131072"] if a.cg else []
    different = same = meant = 0
    with tempfile.TemporaryDirectory() as work:
        for set_name in a.sets.split(","):
            options = [slower(o, a.slow) for o in OPTIONS[set_name]]
            for name in a.payload or PAYLOADS:
                if set_name == "plain" and name in ("spin", "sleep", "spin and ignore"):
                    continue
                x, y = (run(p, 3, options, PAYLOADS[name], group, work, a.slow) for p in (a.isolate, a.brig))
                diff = {k: (x[k], y[k]) for k in x if x[k] != y[k] and k not in ("time", "wall")}
                if abs(x["time"] - y["time"]) > 0.25 * a.slow or abs(x["wall"] - y["wall"]) > 1.5 * a.slow:
                    diff["times"] = ((x["time"], x["wall"]), (y["time"], y["wall"]))
                if diff and name in MEANT:
                    meant += 1
                    print(f"{set_name}, {name}: differs as meant: {MEANT[name]}", flush=True)
                elif diff:
                    different += 1
                    print(f"{set_name}, {name}: {diff}", flush=True)
                else:
                    same += 1
    print(f"{'cg' if a.cg else 'no cg'}, {a.sets}: {same} alike, {meant} different as meant, {different} different")
    return 1 if different else 0


sys.exit(main())
