package lang

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"brig/brigd/job"
	"brig/internal/test/must"
	"brig/nsjail"
)

// TestFoundAsTheJailShowsIt: links that leave what a jail has are not followed, and others are.
func TestFoundAsTheJailShowsIt(t *testing.T) {
	for p, want := range map[string]bool{
		"/usr/bin/sh":            true,
		"/bin/sh":                true,
		"/bin/../bin/./sh":       true,
		"/usr/bin":               false,
		"/usr/bin/no-such":       false,
		"/usr/bin/sh/x":          false,
		"/etc/passwd":            false,
		"/etc/../usr/bin/sh":     true,
		"/proc/self/exe":         false,
		"/usr/share/dict/no":     false,
		"/usr/../proc/self/exe":  false,
		"/usr/lib/os-release":    false, // not executable
		"/etc/alternatives/../x": false,
		"":                       false,
		"/":                      false,
	} {
		q := program{path: p}
		if got := q.onHost(); got != want {
			t.Errorf("%q: %v (%q)", p, got, q.real)
		}
	}
	if os.Geteuid() != 0 {
		return
	}
	dir, err := os.MkdirTemp("/usr/lib", "brig-lang-") // only root can show what a link there does
	if err != nil {
		t.Skipf("/usr is read-only here: %v", err)
	}
	defer os.RemoveAll(dir)
	outside := filepath.Join(t.TempDir(), "sh")
	for name, text := range map[string]string{"out": outside, "back": outside + "-back", "loop": "loop",
		"in": "/usr/bin/../../bin/sh", "up": "../../bin/sh"} {
		must.Do(t, os.Symlink(text, filepath.Join(dir, name)))
	}
	must.Do(t, os.WriteFile(outside, []byte("#!/bin/sh\n"), 0o755))
	must.Do(t, os.Symlink("/usr/bin/sh", outside+"-back"))
	must.Do(t, os.WriteFile(filepath.Join(dir, "private"), []byte("#!/bin/sh\n"), 0o750))
	for name, want := range map[string]bool{"out": false, "back": false, "loop": false, "private": false, "in": true,
		"up": true} {
		q := program{path: filepath.Join(dir, name)}
		if got := q.onHost(); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestFindIn looks at a tree whose links must not lead out of it.
func TestFindIn(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"usr/bin", "bin", "opt"} {
		must.Do(t, os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	for name, text := range map[string]string{"usr/bin/perl": "/opt/perl5",
		"usr/bin/bash": "/bin/../../../../../../bin/outside", "usr/bin/node": "/proc/self/exe"} {
		must.Do(t, os.Symlink(text, filepath.Join(dir, name)))
	}
	for _, name := range []string{"opt/perl5", "bin/sh"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o755))
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "bin/ruby"), []byte("x"), 0o644))
	l := must.Get(FindIn(dir))(t)
	var names []string
	for _, i := range l.List() {
		names = append(names, i.Name+" "+i.Path)
	}
	if got := strings.Join(names, ", "); got != "perl /usr/bin/perl, sh /bin/sh" {
		t.Error(got)
	}
	j := &job.Job{Spec: nsjail.Spec{Rootfs: nsjail.Rootfs{Path: dir}}}
	if no := l.Prepare(j, "perl", "1", nil); no != nil || j.Spec.Mounts[0].Target != "/tmp/.brig/main.pl" {
		t.Errorf("%v %+v", no, j.Spec.Mounts)
	}
	if no := l.Prepare(new(job.Job), "perl", "1", nil); no == nil || no.Code != "language_rootfs" {
		t.Errorf("%v", no)
	}
	if no := l.Prepare(j, "bash", "1", nil); no == nil || no.Code != "language_missing" {
		t.Errorf("%v", no)
	}
	if _, err := FindIn(filepath.Join(dir, "nowhere")); err == nil || !strings.Contains(err.Error(), "name a directory") {
		t.Error(err)
	}
}

// TestInAnImage runs code in a root of its own, made of the host's directories by links.
func TestInAnImage(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"usr", "proc", "dev", "tmp", "work", "output", "input", "etc", "run", "sys"} {
		must.Do(t, os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	for p := filepath.Clean(dir); len(p) > len(os.TempDir()); p = filepath.Dir(p) { // the jail's user has to reach it
		must.Do(t, os.Chmod(p, 0o755))
	}
	l := &Languages{base: nsjail.Spec{Rootfs: nsjail.Rootfs{Path: dir}}, dir: codeDirImage}
	l.look()
	need2 := &job.Job{Spec: nsjail.Spec{Rootfs: nsjail.Rootfs{Path: dir}}}
	if no := l.Prepare(need2, "perl", "", nil); no != nil {
		t.Skip("there is no perl here")
	}
	s := story{code: "print 'hello'; die 'gone'"}
	s.spec.Rootfs.Path = dir
	s.spec.Mounts = []nsjail.Mount{{Type: nsjail.MountBind, Source: "/usr", Target: "/usr"}}
	for _, name := range []string{"bin", "lib", "lib64"} {
		if text, err := os.Readlink("/" + name); err == nil {
			must.Do(t, os.Symlink(text, filepath.Join(dir, name)))
		}
	}
	got := s.run(t, l, "perl")
	if got.out != "hello" || got.messages != "gone at /tmp/.brig/main.pl line 1.\n" {
		t.Errorf("%q %q", got.out, got.messages)
	}
}

// TestAtOnce is for the race detector.
func TestAtOnce(t *testing.T) {
	l := Find()
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 50 {
				l.List()
				l.Prepare(new(job.Job), "go", "", nil)
				l.Prepare(new(job.Job), "unknown", "", nil)
				l.mu.Lock()
				l.goCache = nil
				l.mu.Unlock()
			}
		})
	}
	wait.Wait()
}

func BenchmarkFind(b *testing.B) {
	for b.Loop() {
		Find()
	}
}
