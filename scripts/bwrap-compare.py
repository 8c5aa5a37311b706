#!/usr/bin/env python3
"""Compare brig's bwrap with bubblewrap itself: scripts/bwrap-compare.py BWRAP BRIG [--cases N] [--seed N] [-v]

BWRAP is bubblewrap, from 0.8 on, and BRIG a brig that is called bwrap. Each case is a random command line, which both get,
each with a new copy of the same small tree. Inside, mounts, ids, capabilities, namespaces, environment, descriptors and
files must be equal; afterwards the tree and the exit code. The caller's own words for an error may differ.
Call it as root and as an ordinary user, in namespaces of its own: unshare -mipf --mount-proc. Otherwise some cases, with
--chmod, change the mode of /proc and of the message queues' root for the whole machine, in bubblewrap, too.
"""
import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

PROBE = r"""
exec 2>/dev/null
grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs|NSpid|Umask|SigIgn|SigBlk)' /proc/self/status
for ns in cgroup ipc mnt net pid user uts; do echo "ns $ns $(readlink /proc/self/ns/$ns)"; done
cat /proc/self/uid_map /proc/self/gid_map /proc/self/setgroups
echo "cwd $(pwd -P) pwd $PWD zero $0 host $(uname -n) umask $(umask)"
echo "env $(env | grep -v '^_=' | sort | tr '\n' '|')"
echo fds; cd /proc/self/fd && for f in [3-9] [1-9][0-9]; do readlink $f; done; cd /
echo "limits $(ulimit -n) $(ulimit -c) nice $(nice) userns $(cat /proc/sys/user/max_user_namespaces)"
echo "session $(cut -d' ' -f5-6 /proc/self/stat | awk '{print ($1==$2), ($2==0)}')"
for d in / /new /new/a /new/a/b /dev /home/new T T/dst T/dst/new T/dst/new/deep T/dst/sub; do
echo "dir $d"; stat -c '%a %u %g %F %N' $d/* | grep -v -e '/[0-9]*.$' -e "self' -> "; done
echo "== mounts"; cat /proc/self/mountinfo
"""


# bubblewrap looks absolute symbolic links up outside of the new root, where they lead nowhere, and mounts with mount(2),
# which refuses the same mount twice; brig looks them up inside, and mounts with fsmount(2).
LINKS = re.compile("No such file or directory|Not a directory|Too many levels|Device or resource busy|in mount table")


class Case:
    """One random command line. Its words refer to a tree at self.root."""

    def __init__(self, rng, root, uid):
        self.rng, self.root, self.uid = rng, root, uid
        self.data = []  # what the numbered descriptors hold: (descriptor, bytes)
        self.words = self.base() + self.flags() + self.steps()
        self.argv0 = rng.random() < 0.1
        if self.argv0:
            self.words += ["--argv0", "other"]

    def base(self):
        r = self.rng
        kind = r.choice(["ro", "rw", "dev", "usr", "usr"])
        self.open = kind in ["rw", "dev"]  # what is made then stays on the host: only in the tree
        if kind != "usr":
            return [{"ro": "--ro-bind", "rw": "--bind", "dev": "--dev-bind"}[kind], "/", "/"]
        words = ["--ro-bind", "/usr", "/usr", "--proc", "/proc"]
        for d in ["bin", "lib", "lib64", "sbin"]:
            words += ["--symlink", "usr/" + d, "/" + d]
        return words

    def flags(self):
        r, words = self.rng, []
        some = lambda p, *w: words.extend(w) if r.random() < p else None
        self.pid = r.random() < 0.5
        self.user = r.random() < 0.4
        if r.random() < 0.3:
            words += ["--unshare-all"]
            self.pid = self.user = True
            some(0.3, "--share-net")
        else:
            if self.pid:
                words += ["--unshare-pid"]
            for ns in ["ipc", "net", "cgroup", "cgroup-try", "user-try"]:
                some(0.25, "--unshare-" + ns)
        if self.user:
            words += ["--unshare-user"]
            some(0.3, "--uid", str(r.choice([0, 1000, 4242])))
            some(0.3, "--gid", str(r.choice([0, 1000, 4242])))
            some(0.15, "--disable-userns")
        if r.random() < 0.2:
            words += ["--unshare-uts", "--hostname", "box"]
        for _ in range(r.choice([0, 0, 0, 1, 2])):
            words += [r.choice(["--cap-add", "--cap-drop"]),
                      r.choice(["ALL", "CAP_SYS_ADMIN", "cap_net_raw", "CAP_SETFCAP", "CAP_KILL"])]
        for _ in range(r.choice([0, 0, 1, 2])):
            words += r.choice([["--clearenv"], ["--setenv", "FOO", "bar"], ["--unsetenv", "HOME"], ["--setenv", "PATH", "/bin"]])
        some(0.2, "--new-session")
        some(0.2, "--die-with-parent")
        some(0.2, "--chdir", r.choice(["/", "/usr", self.root, "/nowhere"]))
        if self.pid:
            some(0.2, "--as-pid-1")
        if "--as-pid-1" not in words:
            some(0.1, "--lock-file", "/usr/bin/env")
        return words

    def fd(self, text):
        n = 20 + len(self.data)
        self.data.append((n, text))
        return str(n)

    def target(self):
        r = self.rng
        if self.open or r.random() < 0.5:
            return r.choice([self.root + p for p in ["/dst", "/dst/sub", "/dst/new/deep", "/link", "/file", "/dst/newfile"]])
        return r.choice([self.root + "/dst", self.root + "/dst/sub", self.root + "/dst/new/deep", self.root + "/link",
                         self.root + "/file", self.root + "/dst/newfile", "/new", "/new/a", "/new/a/b", "/tmp", "/tmp/x",
                         "/mnt", "/mnt/y", "/home/new", "new/rel", "/usr/share", "//new//c"])

    def bind(self, kind):
        """A bind. What is not the tree's is read-only: later steps may write to it."""
        r, own = self.rng, [self.root + p for p in ["/src", "/src/sub", "/file", "/link", "/absent"]] + ["src", "file"]
        if kind.startswith("--ro") and not self.open and r.random() < 0.15:  # much: where its files are not listed
            return [kind, r.choice(["/", "/tmp", "/proc"]), r.choice(["/mnt", "/mnt/y", "/home/much"])]
        if kind.startswith("--ro"):
            own += ["/usr/share", "/etc", "/dev/null", self.root + "/up"]
        return [kind, r.choice(own), self.target()]

    def steps(self):
        r, words = self.rng, []
        for _ in range(r.choice([0, 1, 2, 3, 4, 6])):
            perms = ["--perms", r.choice(["0700", "0750", "1777", "0640", "0000", "0705"])] if r.random() < 0.4 else []
            words += r.choice([
                lambda: self.bind(r.choice(["--bind", "--ro-bind", "--dev-bind", "--bind-try", "--ro-bind-try", "--dev-bind-try"])),
                lambda: self.bind(r.choice(["--bind", "--ro-bind"])),
                lambda: perms + (["--size", "1048576"] if r.random() < 0.3 else []) + ["--tmpfs", self.target()],
                lambda: perms + ["--dir", self.target()],
                lambda: perms + [r.choice(["--file", "--bind-data", "--ro-bind-data"]), self.fd(b"data\n" * r.choice([0, 1, 9999])),
                                 self.target()],
                lambda: ["--symlink", r.choice(["dst", "elsewhere"]), r.choice([self.target(), self.root + "/link"])],
                lambda: ["--remount-ro", r.choice([self.target(), "/", "/usr"])],
                lambda: ["--chmod", r.choice(["0700", "0755"]), self.target()],
                lambda: ["--proc", r.choice(["/proc", self.target()])],
                lambda: ["--dev", r.choice(["/dev", self.target()])],
                lambda: ["--mqueue", self.target()],
                lambda: self.overlay(),
            ])()
        return words

    def overlay(self):
        r = self.rng
        src = ["--overlay-src", self.root + "/src", "--overlay-src", self.root + "/lower"][:r.choice([2, 4])]
        return src + r.choice([["--tmp-overlay", self.target()], ["--ro-overlay", self.target()],
                               ["--overlay", self.root + "/upper", self.root + "/work", self.target()]])


def plant(root):
    """Make the tree anew."""
    for name in os.listdir(root):
        path = os.path.join(root, name)
        if os.path.isdir(path) and not os.path.islink(path):
            subprocess.run(["chmod", "-R", "u+rwx", path], check=False)
            shutil.rmtree(path)
        else:
            os.unlink(path)
    for d in ["src/sub", "dst/sub", "lower", "upper", "work"]:
        os.makedirs(os.path.join(root, d))
    for f in ["file", "src/one", "lower/two", "dst/three"]:
        with open(os.path.join(root, f), "w") as out:
            out.write(f)
    os.symlink("dst", os.path.join(root, "link"))
    os.symlink(os.path.relpath("/usr/share", root), os.path.join(root, "up"))


def listing(root):
    """What is in the tree afterwards."""
    out = subprocess.run(["find", root, "-printf", "%P %M %U %G %s %l\n"], capture_output=True, text=True)
    return sorted(re.sub(r"^(work/work.*) \d+ ", r"\1 ", line) for line in out.stdout.splitlines())


def mounts(lines, host):
    """Mount entries without what differs from one run to the next: ids, numbers of anonymous devices, peer groups."""
    fields = {line.split()[0]: line.split() for line in lines}
    covered = {f[1] for f in fields.values() if f[1] in fields and fields[f[1]][4] == f[4] != "/"}
    for line in lines:
        if line.split()[0] in covered:
            continue  # bubblewrap leaves the flags of what another mount covers as they are
        left, right = line.split(" - ", 1)
        f, (fstype, source, options) = left.split(), (right.split() + ["", ""])[:3]
        optional = sorted({o.split(":")[0] for o in f[6:]})
        dev = f[2] if f[2] in host else "anonymous"
        options = re.sub(r"(lower|upper|work)dir=[^,]*", r"\1dir", options)
        options = re.sub(r"\\.", "", options)
        f[3] = re.sub(r"^/bindfile\w*", "/bindfile", f[3])
        parent = fields[f[1]][4] if f[1] in fields else "outside"
        yield " ".join([parent, dev, f[3], f[4], f[5], " ".join(optional), fstype, source, options])


def normal(text, host, namespaces):
    """The probe's output without what may differ."""
    head, _, table = text.partition("== mounts\n")
    out = []
    for line in head.splitlines():
        if line.startswith("ns "):
            _, name, value = line.split()
            line = f"ns {name} {'shared' if value == namespaces[name] else 'new'}"
        if line.startswith("NSpid"):
            line = f"NSpid {len(line.split())}"
        out.append(line)
    return out + sorted(mounts(table.splitlines(), host), key=lambda line: line.split()[3])


def run(program, case, host, namespaces, verbose):
    plant(case.root)
    fds, numbers = [], []
    for number, text in case.data:
        f = tempfile.TemporaryFile()
        f.write(text)
        f.seek(0)
        fds.append(f)
        numbers.append((f.fileno(), number))
    status_r, status_w = os.pipe()

    def prepare():
        for have, want in numbers:
            os.dup2(have, want)
        os.dup2(status_w, 60)
    p = subprocess.Popen([program, "--json-status-fd", "60"] + case.words + ["sh", "-c", re.sub(r"\bT\b", case.root, PROBE)],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=case.root,
                         close_fds=False, preexec_fn=prepare, text=True, errors="surrogateescape")
    os.close(status_w)
    for f in fds:
        f.close()
    try:
        out, err = p.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        p.kill()
        out, err = p.communicate()
        err += "TIMEOUT"
    with os.fdopen(status_r) as f:
        told = f.read()
    keys = [re.findall(r'"([a-z-]+)":', line) for line in told.splitlines()]
    if p.returncode != 0 and '"exit-code"' not in told:
        keys = ["no command"]
    exit_told = re.findall(r'"exit-code": (\d+)', told)
    return {"exit": p.returncode, "keys": keys, "told": exit_told, "out": normal(out, host, namespaces),
            "after": listing(case.root)}, err


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("bwrap")
    p.add_argument("brig")
    p.add_argument("--cases", type=int, default=200)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("-v", action="store_true")
    a = p.parse_args()
    a.bwrap, a.brig = os.path.abspath(shutil.which(a.bwrap) or a.bwrap), os.path.abspath(a.brig)
    if not shutil.which(a.bwrap):
        print(f"skipped: there is no {a.bwrap} to compare with; install bubblewrap")
        return 0
    help_text = subprocess.run([a.bwrap, "--help"], capture_output=True, text=True).stdout
    host = {line.split()[2] for line in open("/proc/self/mountinfo")}
    namespaces = {n: os.readlink("/proc/self/ns/" + n) for n in ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"]}
    root = tempfile.mkdtemp(prefix="bwrap-compare-", dir="/var/tmp")
    os.chmod(root, 0o755)
    ran = failed = different = skipped = links = 0
    try:
        for i in range(a.cases):
            rng = random.Random(a.seed * 1000003 + i)
            case = Case(rng, root, os.getuid())
            if i % 500 == 0:
                print(f"case {i}", flush=True)
            if any(w.startswith("--") and w not in help_text for w in case.words):
                skipped += 1  # an option that this bubblewrap does not have
                continue
            theirs, their_err = run(a.bwrap, case, host, namespaces, a.v)
            ours, our_err = run(a.brig, case, host, namespaces, a.v)
            ran += 1
            if theirs["keys"] == ours["keys"] == ["no command"]:
                theirs["after"] = ours["after"] = []  # how far they have come
            failed += theirs["exit"] != 0 and theirs["keys"] == ["no command"]
            if theirs == ours:
                continue
            if theirs["keys"] == ["no command"] and ours["keys"] != theirs["keys"] and LINKS.search(their_err):
                links += 1
                continue
            different += 1
            print(f"case {i}: {' '.join(case.words)}\n  theirs: {their_err.strip()}\n  ours: {our_err.strip()}", flush=True)
            for key in theirs:
                if theirs[key] != ours[key]:
                    if isinstance(theirs[key], list):
                        for line in theirs[key]:
                            if line not in ours[key]:
                                print(f"  - {key} {line}")
                        for line in ours[key]:
                            if line not in theirs[key]:
                                print(f"  + {key} {line}")
                    else:
                        print(f"  {key}: {theirs[key]} {ours[key]}")
    finally:
        subprocess.run(["chmod", "-R", "u+rwx", root], check=False)
        shutil.rmtree(root)
    print(json.dumps({"cases": ran, "refused by both": failed, "skipped": skipped, "more than theirs": links,
                      "different": different}))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
