package lang

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"brig/brigd/job"
	"brig/internal/test/asuser"
	"brig/internal/test/long"
	"brig/internal/test/must"
	"brig/nsjail"
)

// TestGo fills the cache and runs programs that need nothing but what is in it: without one a run compiles the runtime
// each time. They import nothing, since to compile package os is some ten seconds' work.
func TestGo(t *testing.T) {
	long.Test(t)
	l := Find()
	need(t, l, "go")
	if testing.Short() {
		t.Skip("to compile Go's runtime takes 8 s of processor time")
	}
	t.Parallel()
	kept := filepath.Join(asuser.Dir(), "go-cache") // of the first run, for the second
	if _, err := os.Stat(kept); err == nil {
		l.goCache = &nsjail.Mount{Type: nsjail.MountBind, Source: kept, Target: goCacheAt}
	} else {
		fillInVolume(t, l, kept)
	}
	got := story{code: "package main\n\nfunc main() {\n\tx := 1\n}\n"}.run(t, l, "go")
	if want := "/run/brig/main.go:4:2: declared and not used: x"; got.ExitCode != 1 ||
		!strings.Contains(got.messages, want) || got.out != "" {
		t.Errorf("exit code %d, %q %q", got.ExitCode, got.out, got.messages)
	}
	got = story{code: "package main\r\n\r\nfunc main() {\r\n\tprintln(\"h\xc3\xa9llo\")\r\n\tpanic(`$(id)`)\r\n}",
		args: []string{"a"}}.run(t, l, "golang")
	if got.ExitCode != 2 || !strings.HasPrefix(got.messages, "héllo\npanic: $(id)\n") ||
		!strings.Contains(got.messages, "\t/run/brig/main.go:5 ") {
		t.Errorf("exit code %d, %q %q", got.ExitCode, got.out, got.messages)
	}
	if wall := got.Usage.User; wall > nsjail.Millis(4e9) {
		t.Errorf("it took %v of processor time: the cache was not used", wall)
	}
	got = story{code: "package main\nimport \"github.com/no/such\"\nfunc main() { such.Do() }"}.run(t, l, "go")
	if want := "/run/brig/main.go:2:8: no required module provides package"; got.ExitCode != 1 ||
		!strings.Contains(got.messages, want) {
		t.Errorf("exit code %d, %q", got.ExitCode, got.messages)
	}
}

func fillInVolume(t *testing.T, l *Languages, keep string) {
	v, err := runner(t).NewVolume(nsjail.VolumeOptions{Size: 256 << 20, Inodes: 4096, Dirs: []string{"go"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.goCache = nil // before the volume is closed
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := l.FillGoCache(t.Context(), job.On(runner(t)), v.ID()+"/nowhere", "unsafe"); err == nil {
		t.Error("a directory that the volume does not have was filled")
	}
	if err := l.FillGoCache(t.Context(), job.On(runner(t)), v.ID()+"/go", "no/such"); err == nil ||
		!strings.Contains(err.Error(), "package no/such is not in std") || l.goCache != nil {
		t.Errorf("%v", err)
	}
	must.Do(t, l.FillGoCache(t.Context(), job.On(runner(t)), v.ID()+"/go", "unsafe"))
	got := story{code: "package main\nfunc main() { println(1) }"}
	got.spec.Mounts = []nsjail.Mount{{Type: nsjail.MountData, Target: "/input/x", Content: "x"}}
	if r := got.run(t, l, "go"); r.messages != "1\n" {
		t.Errorf("%q", r.messages)
	}
	if r := (story{code: "touch /run/brig/go-cache/x && echo written",
		spec: nsjail.Spec{Mounts: []nsjail.Mount{*l.goCache}}}).run(t, l, "sh"); r.out != "" {
		t.Errorf("a payload can write to the cache of all: %q", r.out)
	}
	if asuser.Second() {
		return
	}
	from := os.DirFS("/proc/self/fd/" + strconv.Itoa(int(v.Root().Fd())) + "/go")
	err = os.CopyFS(keep, from)
	if err == nil { // for a user who is not its owner
		err = filepath.WalkDir(keep, func(p string, d fs.DirEntry, err error) error {
			if err == nil {
				err = os.Chmod(p, map[bool]os.FileMode{true: 0o755, false: 0o644}[d.IsDir()])
			}
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}
