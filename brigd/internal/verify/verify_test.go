package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"brig/internal/attack"
	"brig/internal/rig"
	"brig/internal/test/asuser"
	"brig/internal/test/long"
	"brig/internal/test/must"
	"brig/landlock"
	"brig/nsjail"
	"brig/nsjail/spec"
)

func TestMain(m *testing.M) {
	if os.Getenv(stepVariable) != "" { // a process of the attacks on a network
		os.Exit(Run(nil, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(asuser.Main(m))
}

// at returns a report on a Spec, whose $IN, $WORK and $ROOT are directories of the test's.
func at(t *testing.T, text, only string) *Report {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the attacks know the system calls of x86-64 only")
	}
	dir := t.TempDir()
	err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755))
	for _, d := range []string{"in", "work", "root/usr", "root/etc"} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	for _, name := range []string{"bin", "lib", "lib64"} {
		err = errors.Join(err, os.Symlink("usr/"+name, filepath.Join(dir, "root", name)))
	}
	profile := filepath.Join(dir, "open.json")
	must.Do(t, errors.Join(err, os.WriteFile(profile, []byte(`{"defaultAction": "SCMP_ACT_ALLOW"}`), 0o644)))
	text = strings.NewReplacer("$IN", dir+"/in", "$WORK", dir+"/work", "$ROOT", dir+"/root", "$OPEN", profile).Replace(text)
	o := &options{spec: "-", only: only}
	s := must.Get(o.read(strings.NewReader(text)))(t)
	list, egress, err := o.attacks()
	if err != nil {
		t.Fatal(err)
	}
	return must.Get(verify(t.Context(), s, list, egress, false))(t)
}

// TestEgress: attacks on a network by name run in the rig's internet. One that gets through is reported: its rules
// allow what it claims to be refused.
func TestEgress(t *testing.T) {
	const picked = "egress-addr-metadata,egress-rebind-own,egress-dns-exfil-names,egress-keeper-killed"
	r := at(t, `{"net": "egress", "egress": {"allow": [{"host": "any.example"}]}}`, picked)
	if r.Verdict != verdictHeld || r.Counts[Held] < 3 || r.Counts[NotApplicable] != len(r.Attacks)-r.Counts[Held] {
		t.Errorf("%s: %+v", r.Summary, r.Attacks)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "brig-verify-*")); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
	if r = at(t, `{}`, "egress"); len(r.Attacks) != 1 || r.Attacks[0].Detail != "the network is not egress" {
		t.Errorf("%+v", r.Attacks)
	}
}

// TestEgressThrough: what reaches a server that no rule may name is seen, though the payload may deny it.
func TestEgressThrough(t *testing.T) {
	const reach = "from egress import *\nheard = tcp('93.184.216.35', 80)\n"
	open := []string{"tcp://93.184.216.35:80"}
	s, err := (&options{spec: "-"}).read(strings.NewReader(`{"net": "egress", "egress": {"allow": [{"host": "any.example"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for want, a := range map[Result]*rig.Attack{
		GotThrough: {Name: "says.py", Allow: open, Text: reach + "verdict(heard)\n"},
		Held:       {Name: "says.py", Allow: []string{"good.example"}, Text: reach + "verdict(heard)\n"},
		Unclear:    {Name: "crashes.py", Allow: open, Text: "raise SystemExit(4)\n"},
	} {
		silent := &rig.Attack{Name: "silent.py", Allow: a.Allow, Text: reach + "contained('it lies')\n"}
		r := must.Get(verify(t.Context(), s, nil, []*rig.Attack{a, silent}, false))(t)
		second := GotThrough
		if want == Held {
			second = Held
		}
		if len(r.Attacks) != 2 || r.Attacks[0].Result != want || r.Attacks[1].Result != second {
			t.Errorf("want %s, %s: %+v", want, second, r.Attacks)
		}
	}
}

func (r *Report) names(result Result) (names []string) {
	for _, row := range r.Attacks {
		if row.Result == result {
			names = append(names, row.Name)
		}
	}
	return names
}

const binds = `{"mounts": [{"type": "bind", "source": "$IN", "target": "/input"},
	{"type": "bind", "source": "$WORK", "target": "/work", "writable": true}], "protect": ["@git"]}`

// TestHolds: a jail with directories and no weakening setting withstands all attacks.
func TestHolds(t *testing.T) {
	long.Test(t)
	r := at(t, binds, "")
	if bad := append(r.names(GotThrough), r.names(Unclear)...); len(bad) > 0 || r.Verdict != verdictHeld {
		t.Errorf("%q: %s", bad, r.Summary)
	}
	if n := r.Counts[Held]; n < 150 {
		t.Errorf("only %d attacks were held", n)
	}
	for _, row := range r.Attacks {
		if row.Result == GivenUp && row.GivenUpBy == "" || (row.Result == NotApplicable) == row.Performed {
			t.Errorf("%+v", row)
		}
		if row.Result == NotApplicable && row.Detail == "" {
			t.Errorf("%s: no reason", row.Name)
		}
	}
}

// TestDefaultGivesUpNothing: the default jail claims whatever applies to it.
func TestDefaultGivesUpNothing(t *testing.T) {
	list, _, err := new(options).attacks()
	if err != nil {
		t.Fatal(err)
	}
	for _, lane := range []string{"root", "user"} {
		c := must.Get(newConfig(&nsjail.Spec{}, lane, "/tmp"))(t)
		claims := 0
		for _, a := range list {
			f := must.Get(c.fit(a))(t)
			if f.skip == "" && f.givenUp != "" {
				t.Errorf("%s: %s is given up by %s", lane, a.Name, f.givenUp)
			}
			if f.skip == "" {
				claims++
			}
		}
		if claims < 130 {
			t.Errorf("%s: %d claims", lane, claims)
		}
	}
}

// weakenings are configurations that are weaker on purpose: which of the attacks in only get through, and which
// setting is named. The others have to be held.
var weakenings = []struct{ spec, only, through, by string }{
	{`{"seccomp": "unconfined"}`, "ns-user,kernel-bpf,key-add,cap-sets", "ns-user kernel-bpf key-add", "--seccomp unconfined"},
	{`{"seccomp": "$OPEN"}`, "kernel-userfaultfd,init-limits,cap-sets,cap-no-new-privs", "init-limits kernel-userfaultfd", "--seccomp "},
	{`{"seccomp": "debug"}`, "init-pidfd-filter,ptrace-exit,ns-user,net-alg", "init-pidfd-filter ptrace-exit", "--seccomp debug"},
	{`{"net": "host"}`, "net-loopback,net-interfaces,ns-own,ipc-shm", "ns-own net-interfaces net-loopback", "--net host"},
	{`{"mounts": [{"type": "bind", "source": "$WORK", "target": "/work", "writable": true}]}`, "protect-write,protect-rename-over,work-lease",
		"protect-write protect-rename-over", "--no-protect"},
	{`{"mounts": [{"type": "bind", "source": "$WORK", "target": "/work", "writable": true}], "protect": ["@git"]}`,
		"cow-write,cow-lock,work-lease,protect-write", "cow-write cow-lock", "--bind "},
	{`{"mounts": [{"type": "bind", "source": "$IN", "target": "/input", "live": true}]}`, "input-lock,input-watch,input-write,input-create",
		"input-lock input-watch", "--ro-bind-live "},
	{`{"mounts": [{"type": "bind", "source": "$IN", "target": "/input", "live": true}], "optional": ["sockets"]}`,
		"input-socket,input-socket-live,input-write", "input-socket input-socket-live", "--optional sockets"},
	{`{"mounts": [{"type": "bind", "source": "/", "target": "/host"}]}`, "file-host-dir,root-dotdot,etc-write,root-write",
		"file-host-dir root-dotdot", "--ro-bind / /host"},
	{`{"mounts": [{"type": "bind", "source": "/tmp", "target": "/t", "writable": true}], "protect": ["@git"], "optional": ["sockets"]}`,
		"file-host-dir,file-shadow", "file-host-dir", "--bind /tmp /t"},
	{`{"mounts": [{"type": "bind", "source": "/etc", "target": "/etc"}]}`, "file-shadow,file-accounts,etc-write,root-write",
		"file-accounts file-shadow etc-write", "--ro-bind /etc /etc"},
	{`{"mounts": [{"type": "file", "source": "/etc/hosts", "target": "/etc/machine-id"}]}`, "file-accounts,file-shadow",
		"file-accounts", "--file /etc/hosts /etc/machine-id"},
	{`{"pass_env": ["VERIFY_API_TOKEN"]}`, "env", "env-pid1 env-self", "--env VERIFY_API_TOKEN"},
	{`{"env": ["DB_PASSWORD=correct horse"]}`, "env-self,env-stack", "env-self", "--env DB_PASSWORD"},
	{`{"limits": {"processes": -1}}`, "host-flood-processes,host-flood-threads,host-flood-root", "host-flood-processes host-flood-threads",
		"--pids-limit -1"},
	{`{"rootfs": {"system": "shared"}}`, "system,env-self", "system-flock system-lock system-watch", "--system shared"},
	{`{"no_init": true}`, "init,env-stack", "env-stack init-exe init-fds init-limits init-listener init-root init-signal init-vm-read", "--no-init"},
	{`{"limits": {"rlimits": {"core": {"soft": 4096, "hard": 4096}}}}`, "host-core-helper,limit-raise", "host-core-helper", "--ulimit core"},
	{`{"rootfs": {"path": "$ROOT", "writable": true}, "mounts": [{"type": "bind", "source": "/usr", "target": "/usr"}]}`,
		"root-write,host-flood-root,cap-sets", "root-write host-flood-root", "--rootfs-writable"},
}

// TestWeakenings: in a configuration with a weakening setting, the attacks that get through are attributed to that
// setting and are not failures. All others are withstood.
func TestWeakenings(t *testing.T) {
	if len(weakenings) < 15 {
		t.Errorf("%d weakenings are fewer than 15", len(weakenings))
	}
	if asuser.Second() { // root's payload has an id of its own
		weakenings = append(weakenings, struct{ spec, only, through, by string }{
			`{"limits": {"rlimits": {"nofile": {"soft": 1024, "hard": 1024}}}}`, "limit-inflight,limit-files", "limit-inflight", "--ulimit nofile"})
	}
	for _, w := range weakenings {
		t.Run(w.spec, func(t *testing.T) {
			r := at(t, w.spec, w.only)
			if got := strings.Join(r.names(GivenUp), " "); !sameWords(got, w.through) {
				t.Errorf("given up: %s; want %s", got, w.through)
			}
			if bad := append(r.names(GotThrough), r.names(Unclear)...); len(bad) > 0 || r.Counts[Held] == 0 || r.Verdict != verdictHeld {
				t.Errorf("%q: %s", bad, r.Summary)
			}
			for _, row := range r.Attacks {
				if row.Result == GivenUp && !strings.HasPrefix(row.GivenUpBy, w.by) {
					t.Errorf("%s is given up by %q; want %q", row.Name, row.GivenUpBy, w.by)
				}
			}
			if !strings.Contains(r.Summary, "weaker than a default jail by "+w.by) {
				t.Error(r.Summary)
			}
		})
	}
}

func sameWords(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// TestThrough: an attack that gets through is a failure; one without a verdict is no success; what an attack prints
// does not reach a terminal as it is; one that does harm is not performed after the first that got through.
func TestThrough(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the attacks know the system calls of x86-64 only")
	}
	made := func(name, header, body string) *attack.Attack {
		return must.Get(attack.Parse(name, "# The jail holds what nothing can hold.\n"+header+"# off: label=caps\n"+body))(t)
	}
	through := made("cap-none.py", "", "print('ESCAPED \\x1b[2J', 'x' * 5000); raise SystemExit(1)\n")
	crash := made("cap-crash.py", "", "print('\\x1b' * 4000000); raise ValueError\n")
	forged := made("cap-forged.py", "", "print('CONTAINED'); raise SystemExit(4)\n")
	harm := made("cap-harm.py", "# harm: the house burns\n", "print('CONTAINED')\n")
	for want, list := range map[string][]*attack.Attack{
		"got_through 1 of 1":                             {through, harm},
		"not_verified 2 attacks gave no verdict; 1 held": {crash, forged, harm},
		"held all 1 attacks":                             {harm},
		"not_verified nothing was verified":              {},
	} {
		s := must.Get((&options{spec: "-"}).read(strings.NewReader("{}")))(t)
		r := must.Get(verify(t.Context(), s, list, nil, false))(t)
		var text bytes.Buffer
		must.Do(t, r.print(&text, true))
		if !strings.HasPrefix(r.Verdict+" "+r.Summary, want) || strings.Contains(text.String(), "\x1b") || text.Len() > 4000 {
			t.Errorf("%s: %s %s\n%q", want, r.Verdict, r.Summary, text.String())
		}
		if len(list) > 0 && list[0] == through && !strings.Contains(text.String(), "the house burns if it gets through, as cap-none did: cap-harm") {
			t.Error(text.String())
		}
	}
}

// TestTier: in the process tier the attacks on it are performed, and no others.
func TestTier(t *testing.T) {
	if landlock.ABI() < landlock.ScopeABI {
		t.Skip("the process tier needs Landlock of Linux 6.12")
	}
	r := at(t, `{"tier": "process", "mounts": [{"type": "bind", "source": "$IN", "target": "$IN"}]}`, "")
	if r.Verdict != verdictHeld || r.Counts[Held] < 14 {
		t.Errorf("%s: %s: %q", r.Verdict, r.Summary, append(r.names(Unclear), r.names(GotThrough)...))
	}
	for _, row := range r.Attacks {
		if row.Performed && row.Layer != "process tier" {
			t.Errorf("%s was performed", row.Name)
		}
	}
}

// TestLent: a root without an interpreter is lent the machine's, and withstands all attacks. Its user may be root.
func TestLent(t *testing.T) {
	r := at(t, `{"rootfs": {"path": "$ROOT"}, "user": "0:0"}`, "cap,ns,mount,proc,file,root")
	if r.Verdict != verdictHeld || r.Counts[Held] < 40 || !strings.Contains(strings.Join(r.Notes, "\n"), "this machine's is at /escape/usr") {
		t.Errorf("%s: %s: %q %q", r.Verdict, r.Summary, append(r.names(Unclear), r.names(GotThrough)...), r.Notes)
	}
}

// TestNothing: a jail that no attack is for, and bad input, are no success.
func TestNothing(t *testing.T) {
	r := at(t, `{}`, "process")
	if r.Verdict != verdictNothing || !strings.Contains(r.Summary, "no attack applies") || r.Counts[NotApplicable] != len(r.Attacks) {
		t.Errorf("%s: %s", r.Verdict, r.Summary)
	}
	for args, want := range map[string]string{
		"":                       "there is no --spec FILE",
		"--spec /none":           "--spec: open /none",
		"--spec - x":             `"x" is not wanted`,
		"--spec - --only cap-st": `--only: "cap-st" is not an attack; did you mean`,
		"--colour":               "flag provided but not defined",
	} {
		var out, errs bytes.Buffer
		t.Setenv(stepVariable, stepPrivate)
		code := Run(strings.Fields(args), strings.NewReader("{}"), &out, &errs)
		if code != 125 || !strings.Contains(errs.String(), want) || strings.Count(errs.String(), "\n") != 1 || out.Len() > 0 {
			t.Errorf("%q: %d %q %q; want %q", args, code, out.String(), errs.String(), want)
		}
	}
	for text, want := range map[string]string{`{"x": 1}`: "is not a key here", `{"net": "x"}`: "--spec: net:", strings.Repeat(" ", spec.MaxSpecSize+1): "shorten it"} {
		if _, err := (&options{spec: "-"}).read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: %v; want %q", text, err, want)
		}
	}
}

// TestJSON: the whole command, and its exit code.
func TestJSON(t *testing.T) {
	t.Setenv(stepVariable, stepPrivate)
	var out, errs bytes.Buffer
	code := Run([]string{"--spec", "-", "--json", "--only", "fd-leak,cap-sets"}, strings.NewReader(`{"args": ["ignored"]}`), &out, &errs)
	var r Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err, errs.String())
	}
	if runtime.GOARCH == "amd64" && (code != 0 || r.Verdict != "held" || r.Counts[Held] != 2 ||
		fmt.Sprint(r.Attacks[0].CVE) != "[CVE-2024-21626]") {
		t.Errorf("%d %s", code, out.String())
	}
}

// TestEveryLayer: each attack is on a fence that has a name.
func TestEveryLayer(t *testing.T) {
	list, _, err := new(options).attacks()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		if layer, _ := attack.Layer(a.Name); layer != "landlock" && strings.HasPrefix(a.Name, layer+"-") {
			t.Errorf("%s: add its first word to a layer of internal/attack/verdict.go", a.Name)
		}
	}
}

// TestLeavesNothing: the directories of the scenes are gone.
func TestLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	must.Do(t, os.Chmod(os.TempDir(), 0o755))
	at(t, binds, "work,daemon,fd")
	if left, err := filepath.Glob(os.TempDir() + "/brig-*"); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}
