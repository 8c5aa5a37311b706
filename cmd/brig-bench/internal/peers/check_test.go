package peers

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// jail is the report of a jail like brig's.
const jail = `CapEff:	0000000000000000
CapBnd:	0000000000000000
NoNewPrivs:	1
Seccomp:	2
ns:user user:[2]
ns:net net:[2]
mount:/ rw,nosuid
mount:/ ro,nosuid
mount:/usr ro,nodev
mount:/tmp rw
`

func outside(kind string) string { return kind + ":[1]" }

func TestFindings(t *testing.T) {
	if got := findings(jail, outside); len(got) > 0 {
		t.Errorf("of a jail like brig's: %q", got)
	}
	for _, c := range []struct{ from, to, want string }{
		{"ns:net net:[2]", "ns:net net:[1]", "shares the host's namespaces: net"},
		{"NoNewPrivs:	1", "NoNewPrivs:	0", "may gain privileges"},
		{"Seccomp:	2", "Seccomp:	0", "no system-call filter"},
		{"CapBnd:	0000000000000000", "CapBnd:	000001ffffffffff", "CapBnd is 000001ffffffffff"},
		{"mount:/usr ro,nodev", "mount:/usr rw,nodev", "mounted writable: /usr"},
		{"mount:/ ro,nosuid", "mount:/x ro,nosuid", "mounted writable: /"},
		{"ns:user", "host: /etc/shadow\nns:user", "shows of the host: /etc/shadow"},
		{"ns:user", "shown: kcore\nns:user", "shows of /proc: kcore"},
	} {
		got := findings(strings.Replace(jail, c.from, c.to, 1), outside)
		if len(got) != 1 || !strings.Contains(got[0], c.want) {
			t.Errorf("%s: %q, want %q", c.to, got, c.want)
		}
	}
}

func TestVersion(t *testing.T) {
	for said, want := range map[string]string{
		"bubblewrap 0.8.0": "0.8.0", "runc version 1.1.5+ds1\ncommit: x": "1.1.5+ds1", "systemd 252 (252.38-1)": "252",
		"Docker version 28.2.2, build e6534b4": "28.2.2", "tool v1.2": "1.2", "nothing": "",
	} {
		if got := version(os.Environ(), "/bin/echo", said); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
	if got := version(nil, "/nonexistent"); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}

func TestAbsentNamesThePackage(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	h := &Host{Dir: t.TempDir(), Brig: "/no/brig"}
	for _, p := range table {
		if tool := p.tool(h); p.program != "" && p.pkg != "" && !strings.Contains(tool.Info.Absent, p.pkg) && !strings.Contains(p.program, "run") {
			t.Errorf("%s: %q", p.name, tool.Info.Absent)
		}
	}
	if tool := (peer{program: "brig"}).tool(h); tool.Info.Absent == "" {
		t.Error("a brig that does not exist is there")
	}
}

// A command that fails is reported with the last line of its standard error, and what it has left is removed.
func TestCommandFails(t *testing.T) {
	var taken []string
	c := &command{argv: func(string) []string {
		return []string{"/bin/sh", "-c", "echo one >&2; echo 'level=error msg=\"two\"' >&2; exit 3"}
	},
		after: func(id string) error { taken = append(taken, id); return nil }}
	r := must.Get(c.ready())(t)
	defer r.Close()
	for range 2 {
		if err := r.Run(); err == nil || !strings.HasSuffix(err.Error(), "exit status 3: two") {
			t.Errorf("error: %v", err)
		}
	}
	if len(taken) != 2 || taken[0] == taken[1] {
		t.Errorf("taken back: %q", taken)
	}
}

func TestCommandGetsItsFilesAnew(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	must.Do(t, os.WriteFile(name, []byte("text"), 0o600))
	c := &command{argv: func(string) []string { return []string{"/bin/sh", "-c", `test "$(cat <&3)" = text`} }, file: name}
	r := must.Get(c.ready())(t)
	defer r.Close()
	for range 2 {
		if err := r.Run(); err != nil {
			t.Error(err)
		}
	}
}

func TestKillEndsTheGroup(t *testing.T) {
	c := &command{argv: func(string) []string { return []string{"/bin/sh", "-c", "echo up; cat; sleep 1000"} }}
	r := must.Get(c.ready())(t)
	defer r.Close()
	in, _, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := must.Get(r.Start(Streams{In: in, Out: theirs}))(t)
	theirs.Close()
	var b [3]byte
	if _, err := out.Read(b[:]); err != nil || string(b[:]) != "up\n" {
		t.Fatalf("%q, %v", b, err)
	}
	p.Kill()
	if err := p.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("wait: %v", err)
	}
	if n, err := out.Read(b[:]); n != 0 || err == nil { // its last process has ended
		t.Errorf("read: %d, %v", n, err)
	}
}

// The tree stands in for a root: it has mount points for all that is mounted, and no file of the host's accounts.
func TestTree(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	host := look()
	must.Do(t, host.write(root))
	for _, name := range append([]string{"/proc", "/dev", "/work", "/etc/passwd"}, host.Dirs...) {
		if _, err := os.Lstat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(root, "etc/passwd"))
	if err != nil || strings.Count(string(text), "\n") != 3 {
		t.Errorf("passwd: %q, %v", text, err)
	}
}

func TestNamingFindsProcesses(t *testing.T) {
	dir := t.TempDir()
	c := &command{argv: func(string) []string { return []string{"/bin/cat", "/dev/stdin"} }, env: []string{"HOME=" + dir}}
	r := must.Get(c.ready())(t)
	defer r.Close()
	in, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	answer, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	p := must.Get(r.Start(Streams{In: in, Out: out}))(t)
	out.Close()
	_, err = ours.WriteString("x")
	if _, rerr := answer.Read(make([]byte, 1)); err != nil || rerr != nil { // until then execve(2) may not be complete
		t.Fatal(err, rerr)
	}
	if pids, err := naming(dir); err != nil || len(pids) != 1 {
		t.Errorf("naming: %v, %v", pids, err)
	}
	ours.Close()
	in.Close()
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
	if err := settle(dir); err != nil {
		t.Error(err)
	}
}

func TestMountsBelow(t *testing.T) {
	points, err := mountsBelow("/proc")
	if err != nil || !slices.Contains(points, "/proc") {
		t.Errorf("at /proc: %q, %v", points, err)
	}
	if points, err := mountsBelow(t.TempDir()); err != nil || len(points) > 0 {
		t.Errorf("below an empty directory: %q, %v", points, err)
	}
}

func TestRemoveGroups(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"brig-1/a/b", "pids/x/brig-1-22-3", "brig-11/a", "pids/other"} {
		must.Do(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	if err := removeGroups(root, "brig-1"); err != nil {
		t.Error(err)
	}
	for dir, stays := range map[string]bool{"brig-1": false, "pids/x/brig-1-22-3": false, "pids/x": true, "brig-11/a": true, "pids/other": true} {
		if _, err := os.Stat(filepath.Join(root, dir)); (err == nil) != stays {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestNameIsOfTheHarness(t *testing.T) {
	for dir, want := range map[string]string{"/tmp/brig-12": "brig-12", "/tmp/brig-12/load-3": "brig-12", "/tmp/brig-bench-1/brig-2": "brig-2", "/tmp/X": "x"} {
		if got := (&Host{Dir: dir}).name(); got != want {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
}
