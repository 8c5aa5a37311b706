package host

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail/spec"
	"brig/seccomp"

	"golang.org/x/sys/unix"
)

// profiles writes profiles into a directory: good, and bad in the ways that a file can be.
func profiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"good.json":    `{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[{"names":["read","write","exit_group"],"action":"SCMP_ACT_ALLOW"}]}`,
		"kills.json":   `{"defaultAction":"SCMP_ACT_KILL_PROCESS","syscalls":[{"names":["read"],"action":"SCMP_ACT_ALLOW"}]}`,
		"flags.json":   `{"defaultAction":"SCMP_ACT_ALLOW","flags":["SECCOMP_FILTER_FLAG_LOG"]}`,
		"unknown.json": `{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[{"names":["read","no_such_call"],"action":"SCMP_ACT_ALLOW"}]}`,
		"broken.json":  `{"defaultAction":`, "empty.json": "", "large.json": strings.Repeat(" ", seccomp.MaxSize+1),
	} {
		must.Do(t, os.WriteFile(dir+"/"+name, []byte(text), 0o600))
	}
	must.Do(t, unix.Mkfifo(dir+"/fifo.json", 0o600))
	return dir
}

// TestLookFilter: a preset or a profile becomes a filter for this kernel, with what the profile asks for.
func TestLookFilter(t *testing.T) {
	dir := profiles(t)
	k := must.Get(LookVersion())(t).Kernel
	for _, name := range append(seccomp.Presets(), "") {
		for _, noInit := range []bool{false, true} {
			var f Filters
			must.Do(t, f.lookFilter(&spec.Spec{Seccomp: name, NoInit: noInit}, k))
			if len(f.Filter) == 0 || len(f.Filter)%8 != 0 || f.Profile != nil || f.Guard != nil || f.FilterKills {
				t.Errorf("%q: a filter of %d bytes, %+v", name, len(f.Filter), f.FilterNotes)
			}
		}
	}
	for name, c := range map[string]struct {
		kills bool
		flags uint
		notes string
	}{"good": {}, "kills": {kills: true}, "flags": {flags: unix.SECCOMP_FILTER_FLAG_LOG}, "unknown": {notes: "no_such_call"}} {
		var f Filters
		must.Do(t, f.lookFilter(&spec.Spec{Seccomp: dir + "/" + name + ".json"}, k))
		if len(f.Filter) == 0 || len(f.Profile) == 0 || len(f.Guard) == 0 || f.FilterKills != c.kills || f.FilterFlags != c.flags ||
			(len(f.FilterNotes) > 0) != (c.notes != "") || c.notes != "" && !strings.Contains(f.FilterNotes[0].String(), c.notes) {
			t.Errorf("%s: kills %v, flags %x, notes %q, a guard of %d bytes", name, f.FilterKills, f.FilterFlags, f.FilterNotes, len(f.Guard))
		}
	}
	f := Filters{Guard: []byte{1}}
	if must.Do(t, f.lookFilter(&spec.Spec{Seccomp: "unconfined"}, k)); f.Filter != nil || f.Guard != nil {
		t.Errorf("unconfined: %+v", f)
	}
}

// TestReadProfile: what is wrong with the name or the file is told with its remedy.
func TestReadProfile(t *testing.T) {
	dir := profiles(t)
	const good = `seccomp: "default"`
	for name, want := range map[string]string{
		"defualt":           `seccomp: "defualt" is not a preset; did you mean default? (the path of a file has a slash)`,
		"good.json":         `seccomp: "good.json" is not a preset; write one of default, strict, compute, build, debug, unconfined (the path of a file has a slash)`,
		"x\ny":              `seccomp: "x\ny" is not a preset; write one of`,
		dir + "/gone.json":  `no such file or directory; name a readable profile, or use ` + good,
		dir + "/good.json/": `not a directory; name a readable profile, or use ` + good,
		dir + "/fifo.json":  `is not a regular file; name a profile in JSON`,
		dir:                 `is not a regular file; name a profile in JSON`,
		dir + "/large.json": `is larger than 1m; name a profile in JSON`,
		"/dev/zero":         `"/dev/zero": is not a regular file; name a profile in JSON`,
	} {
		if data, err := ReadProfile(name); err == nil || data != nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "seccomp: ") {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
	}
	for _, name := range []string{"broken.json", "empty.json"} {
		p, _, err := readProfile(dir + "/" + name)
		if err == nil || p != nil || !strings.HasSuffix(err.Error(), "; mend the profile, or use "+good) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := FilterTable(dir+"/"+name, true); err == nil {
			t.Errorf("%s: has a table", name)
		}
	}
	if p, data, err := readProfile("strict"); p == nil || data != nil || err != nil {
		t.Errorf("%v, %d bytes, %v", p, len(data), err)
	}
}

// TestLookGuard: a guard is beneath each filter that is not ours, and beneath none where the payload may write to the
// host's files. Another one leaves the kills of a profile to it.
func TestLookGuard(t *testing.T) {
	rw := []spec.Mount{bind("/x", "/w", true)}
	guard := func(files bool) []byte { return must.Get(seccomp.GuardFilter(files, true))(t) }
	disk := []spec.Mount{{Type: spec.MountCOW, Source: "/x", Target: "/w", Store: spec.StoreDisk}}
	for name, c := range map[string]struct {
		spec spec.Spec
		want []byte
	}{
		"ours":                        {spec.Spec{}, nil},
		"ours, which writes":          {spec.Spec{Mounts: rw}, nil},
		"a file":                      {spec.Spec{Seccomp: "./p"}, seccomp.LeaveKills(guard(false))},
		"a file, which writes":        {spec.Spec{Seccomp: "./p", Mounts: rw}, seccomp.LeaveKills(guard(true))},
		"unconfined":                  {spec.Spec{Seccomp: "unconfined"}, nil},
		"unconfined, which writes":    {spec.Spec{Seccomp: "unconfined", Mounts: rw}, guard(true)},
		"unconfined, changes on disk": {spec.Spec{Seccomp: "unconfined", Mounts: disk}, guard(true)},
		"unconfined, read-only":       {spec.Spec{Seccomp: "unconfined", Mounts: []spec.Mount{bind("/x", "/w", false)}}, nil},
		"unconfined, a volume":        {spec.Spec{Seccomp: "unconfined", Mounts: []spec.Mount{{Type: spec.MountVolume, Target: "/v", Writable: true}}}, nil},
		"without namespaces":          {spec.Spec{Seccomp: "./p", Tier: spec.TierProcess}, nil},
	} {
		f := Filters{Guard: []byte("old")}
		if err := f.lookGuard(&c.spec); err != nil || !bytes.Equal(f.Guard, c.want) {
			t.Errorf("%s: a guard of %d bytes, want %d; %v", name, len(f.Guard), len(c.want), err)
		}
	}
	if bytes.Equal(guard(true), guard(false)) || bytes.Equal(guard(true), seccomp.LeaveKills(guard(true))) {
		t.Error("the guards do not differ")
	}
}

func TestFilterTable(t *testing.T) {
	if text, err := FilterTable("unconfined", true); err != nil || text != "no filter: every system call is allowed\n" {
		t.Errorf("%q, %v", text, err)
	}
	with, without := must.Get(FilterTable("", true))(t), must.Get(FilterTable("default", false))(t)
	if !strings.Contains(with, "read") || with == without {
		t.Errorf("%d and %d bytes", len(with), len(without))
	}
	good := profiles(t) + "/good.json"
	if a, b := must.Get(FilterTable(good, true))(t), must.Get(FilterTable(good, false))(t); a != b || !strings.Contains(a, "exit_group") {
		t.Errorf("%s\n%s", a, b)
	}
}

// A thread without a filter above it can have a listener; trying leaves nothing on this process's other threads.
func TestLookListener(t *testing.T) {
	mode := must.Get(unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0))(t)
	for _, s := range []spec.Spec{{}, {NoInit: true}, {Seccomp: "unconfined"}} {
		var m Machine
		if must.Do(t, m.lookListener(&s)); mode == 0 && m.NoListener != "" {
			t.Errorf("%+v: %s", s, m.NoListener)
		}
	}
	statuses := func() (list []string) {
		for _, e := range must.Get(os.ReadDir("/proc/self/task"))(t) {
			list = append(list, ReadText("/proc/self/task/"+e.Name()+"/status"))
		}
		return list
	}
	if mode == 0 && slices.ContainsFunc(statuses(), func(s string) bool { return strings.Contains(s, "\nSeccomp:\t2\n") }) {
		t.Error("a thread is under a filter")
	}
}
