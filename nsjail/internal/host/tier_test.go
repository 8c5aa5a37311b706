package host

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/must"
	"brig/internal/words"
	"brig/nsjail/spec"
	"brig/seccomp"
)

// tiered returns a looker for a jail without namespaces that shows directories writable.
func tiered(t *testing.T, dirs ...string) *looker {
	t.Helper()
	s := &spec.Spec{Tier: spec.TierProcess, Net: spec.NetNone}
	for _, dir := range dirs {
		s.Mounts = append(s.Mounts, bind(dir, dir, true))
	}
	l := looks(t, s)
	for i, m := range s.Mounts {
		must.Get(l.openMount(SourceOf(i), m))(t)
	}
	return l
}

// TestTierGit: without namespaces a writable directory must neither hold a git repository nor be in one.
func TestTierGit(t *testing.T) {
	away(t)
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	t.Setenv("GIT_CEILING_DIRECTORIES", dir)
	grow(t, dir, "r/.git/objects/", "r/.git/refs/", "r/src/deep/", "plain/f", "above/x/.git/objects/", "above/x/.git/refs/", "bare/objects/", "bare/refs/", "nl/a\nb/.git/objects/", "nl/a\nb/.git/refs/", "via -> r/src")
	for _, name := range []string{"r/.git", "above/x/.git", "bare", "nl/a\nb/.git"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name, "HEAD"), []byte("ref: refs/heads/main\n"), 0o644))
		must.Do(t, os.WriteFile(filepath.Join(dir, name, "config"), []byte("[core]\n"), 0o644))
	}
	for shown, in := range map[string]string{
		"plain": "", "r": "$/r/.git", "r/src/deep": "$/r/src/deep", "r/.git": "$/r/.git", "r/.git/refs": "$/r/.git", "above": "$/above/x/.git", "bare/objects": "$/bare", "nl": "$/nl/a\nb/.git", "via": "$/r/src",
	} {
		l := tiered(t, dir+"/plain", filepath.Join(dir, shown))
		err := l.tierGit()
		if in == "" {
			if err != nil {
				t.Errorf("%s: %v", shown, err)
			}
			continue
		}
		e, ok := errors.AsType[*spec.Error](err)
		if !ok || e.Op != "mounts[1].source" || e.Fault != spec.FaultCaller || !strings.Contains(e.Detail.String(), " has a git repository or is in one ("+words.Quote(strings.Replace(in, "$", dir, 1))+"), and git of the host executes") ||
			!strings.HasPrefix(e.Remedy.String(), `use git: "rw" to let the command write them`) {
			t.Errorf("%s: %v", shown, err)
			continue
		}
		if l.spec.Git = spec.GitRW; l.tierGit() != nil {
			t.Errorf("%s, which may be written: %v", shown, l.tierGit())
		}
	}
	l := tiered(t, dir+"/r")
	if l.spec.Mounts[0].Writable = false; l.tierGit() != nil {
		t.Error("nothing is writable", l.tierGit())
	}
}

// TestLookTier: a jail without namespaces gets a filter and a directory of its own, and counts the tasks of a user that
// is its payload's.
func TestLookTier(t *testing.T) {
	away(t)
	dir := t.TempDir()
	must.Do(t, os.Chmod(dir, 0o755))
	filter := func(net, owns bool) []byte { return must.Get(seccomp.ProcessFilter(net, owns))(t) }
	for name, c := range map[string]struct {
		change func(l *looker)
		guard  []byte
		tasks  bool
		err    string
	}{
		"a user":                {func(l *looker) { l.Drop = false }, filter(false, true), true, ""},
		"the host's network":    {func(l *looker) { l.Drop, l.spec.Net = false, spec.NetHost }, filter(true, true), true, ""},
		"root":                  {func(l *looker) { l.Drop, l.spec.Mounts = true, nil }, filter(false, false), false, ""},
		"a profile from a file": {func(l *looker) { l.Drop, l.spec.Seccomp = false, "./p.json" }, seccomp.LeaveKills(filter(false, true)), true, ""},
		"root as the owner":     {func(l *looker) { l.Drop, l.Owner = true, l.UID+1; l.PayloadUID = l.Sources.Of(0).UID }, filter(false, true), true, ""},
		"root and another's":    {func(l *looker) { l.Drop, l.PayloadUID, l.PayloadGID = true, 77777, 77777 }, nil, false, `is not writable for uid 77777, as whom root's payload runs`},
		"root and everybody's":  {func(l *looker) { l.Drop, l.PayloadUID, l.PayloadGID = true, 77777, 77777; l.Sources.Of(0).Mode = 0o777 }, filter(false, false), false, ""},
		"root, read-only": {func(l *looker) {
			l.Drop, l.PayloadUID, l.PayloadGID = true, 77777, 77777
			l.spec.Mounts[0].Writable = false
		}, filter(false, false), false, ""},
		"no tier":               {func(l *looker) { l.spec.Tier = "" }, nil, false, ""},
		"a user, and another's": {func(l *looker) { l.Drop = false; l.Sources.Of(0).UID, l.Sources.Of(0).Mode = 77777, 0o700 }, filter(false, true), true, ""}, // the kernel refuses
	} {
		l := tiered(t, dir)
		c.change(l)
		err := l.lookTier()
		if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.err == "" && (!bytes.Equal(l.Guard, c.guard) || (l.Scratch == "") != (name == "no tier") || (l.Tasks > 0) != c.tasks) {
			t.Errorf("%s: a guard of %d bytes, want %d; scratch %q; %d tasks", name, len(l.Guard), len(c.guard), l.Scratch, l.Tasks)
		}
	}
}

// The threads of a user are counted, and those of other users are not.
func TestTasks(t *testing.T) {
	if n := tasks(os.Geteuid()); n < int64(threads(t)) {
		t.Errorf("%d tasks; this process alone has %d", n, threads(t))
	}
	if n := tasks(1<<31 - 7); n != 0 {
		t.Errorf("%d tasks of nobody", n)
	}
}

// threads returns a number of threads that this process has at least.
func threads(t *testing.T) int {
	t.Helper()
	return min(2, len(must.Get(os.ReadDir("/proc/self/task"))(t)))
}
