package nsjail

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
)

// TestRemedyWorks applies the remedy in the error about a missing command, and the command runs.
func TestRemedyWorks(t *testing.T) {
	for _, layout := range []struct{ name, file, link string }{
		{"plain", "bin/mytool", ""}, {"with lib", "bin/mytool", ""}, {"pyenv shim", "versions/3/bin/mytool", "shims/mytool"},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, layout.file)
		for _, d := range []string{filepath.Dir(file), filepath.Join(dir, filepath.Dir(layout.link)), filepath.Join(filepath.Dir(filepath.Dir(file)), "lib")} {
			must.Do(t, os.MkdirAll(d, 0o755))
		}
		must.Do(t, os.WriteFile(file, []byte("#!/bin/sh\necho found\n"), 0o755))
		onPath := filepath.Dir(file)
		if layout.link != "" {
			onPath = filepath.Join(dir, filepath.Dir(layout.link))
			must.Do(t, os.Symlink(file, filepath.Join(dir, layout.link)))
		}
		t.Setenv("PATH", onPath+":"+os.Getenv("PATH"))
		_, err := Command("mytool").Run()
		var e *spec.Error
		if !errors.Is(err, ErrNotFound) || !errors.As(err, &e) {
			t.Fatalf("%s: %v", layout.name, err)
		}
		m := regexp.MustCompile(`the host has it as (\S+); add mounts: \{"type":"bind","source":"(\S+)","target":"(\S+)"\} and name it in full`).FindStringSubmatch(e.Remedy.String())
		if m == nil {
			t.Fatalf("%s: the remedy %q names no mount", layout.name, e.Remedy)
		}
		c := Command(m[1])
		c.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: m[2], Target: m[3]}}
		wantOutput(t, c, "found")
	}
}

// TestPathRemedyWorks: a program of the host's /usr that is on the caller's PATH alone runs with that PATH, as the error
// tells.
func TestPathRemedyWorks(t *testing.T) {
	const program, dir = "git-check-ref-format", "/usr/lib/git-core"
	if _, err := os.Stat(filepath.Join(dir, program)); err != nil {
		t.Skip(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	c := Command(program, "refs/heads/x")
	_, err := c.Run()
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "which is not on the jail's PATH; add -e PATH, or name it in full") {
		t.Fatal(err)
	}
	c = Command(program, "refs/heads/x")
	c.Spec.PassEnv = []string{"PATH"}
	if _, r := mustRun(t, c); r.Status != StatusOK {
		t.Errorf("%+v", r)
	}
}

// TestWhyItCannotRun: for an existing file that cannot run, the error has the reason, and for a missing one the flag
// that adds it.
func TestWhyItCannotRun(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{
		"good":     "#!/bin/sh\n",
		"crlf":     "#!/bin/sh\r\necho\r\n",
		"lost":     "#! /opt/none/python -u\n",
		"nested":   "#!/work/lost\n",
		"loader":   string(elfWith("/lib/ld-none.so.1")),
		"plain":    "echo\n",
		"shut":     "#!/work/notx\n",
		"sub/tool": "#!/bin/sh\n",
	} {
		must.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must.Do(t, os.WriteFile(name, []byte(text), 0o755))
	}
	if err := errors.Join(os.WriteFile("notx", nil, 0o644), os.WriteFile("others", nil, 0o611), os.Symlink("/opt/none", "dangling"), os.Symlink("/../lost", "up")); err != nil {
		t.Fatal(err)
	}
	work := []spec.Mount{{Type: spec.MountBind, Source: ".", Target: "/work", Writable: true}}
	empty := spec.Rootfs{Path: t.TempDir()}
	for _, tt := range []struct {
		command string
		mounts  []spec.Mount
		root    spec.Rootfs
		kind    error
		want    string
	}{
		{"./good", nil, spec.Rootfs{}, ErrNotFound, "the jail does not see this directory; add " + spec.ShowWork(".").String()},
		{"sub/tool", nil, spec.Rootfs{}, ErrNotFound, "the jail does not see this directory; add " + spec.ShowWork(".").String()},
		{filepath.Join(dir, "sub", "tool"), nil, spec.Rootfs{}, ErrNotFound, "add " + spec.ShowWork(".").String() + " and write ./sub/tool"},
		{"good", work, spec.Rootfs{}, ErrNotFound, "it is not on the PATH; for the file in this directory write ./good"},
		{"./crlf", work, spec.Rootfs{}, ErrNotFound, `sed -i 's/\r$//' FILE`},
		{"./lost", work, spec.Rootfs{}, ErrNotFound, `names the interpreter "/opt/none/python", which is not in the jail`},
		{"./up", work, spec.Rootfs{}, ErrNotFound, `names the interpreter "/opt/none/python"`}, // a link cannot leave what is shared
		{"./nested", work, spec.Rootfs{}, ErrNotFound, "an interpreter or loader that it needs"},
		{"./loader", work, spec.Rootfs{}, ErrNotFound, `it needs the loader "/lib/ld-none.so.1", which is not in the jail`},
		{"./dangling", work, spec.Rootfs{}, ErrNotFound, "not on this machine's PATH"},
		{"./plain", work, spec.Rootfs{}, ErrNotExecutable, "#!/bin/sh"},
		{"./notx", work, spec.Rootfs{}, ErrNotExecutable, "chmod +x"},
		{"./sub", work, spec.Rootfs{}, ErrNotExecutable, "it is a directory"},
		{"./shut", work, spec.Rootfs{}, ErrNotExecutable, `the interpreter "/work/notx", which not everybody may execute`},
		{"./others", work, spec.Rootfs{}, ErrNotExecutable, "the payload's user may not execute it"},
		{"ls", nil, empty, ErrNotFound, "the tree of rootfs.path has no such file"},
		{"/bin/no-such", nil, spec.Rootfs{}, ErrNotFound, "it is not on this machine's PATH either"},
	} {
		c := Command(tt.command)
		c.Spec.Mounts, c.Spec.Rootfs = tt.mounts, tt.root
		if tt.root.Path != "" {
			for _, d := range []string{"dev", "proc", "tmp", "work", "output", "etc"} {
				must.Do(t, os.MkdirAll(filepath.Join(tt.root.Path, d), 0o755))
			}
		}
		_, err := c.Run()
		var e *spec.Error
		if !errors.Is(err, tt.kind) || !errors.As(err, &e) {
			t.Errorf("%s: %v", tt.command, err)
			continue
		}
		if !strings.Contains(e.Remedy.String(), tt.want) || !strings.HasPrefix(err.Error(), "cannot run ") || strings.Contains(err.Error(), "step ") || e.Step == 0 {
			t.Errorf("%s: %v; want %q", tt.command, err, tt.want)
		}
	}
}

// elfWith is the beginning of an ELF file whose one program header names a loader.
func elfWith(path string) []byte {
	le := binary.LittleEndian
	b := append(make([]byte, 64+56), path+"\x00"...)
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[16:], 2)  // ET_EXEC
	le.PutUint16(b[18:], 62) // EM_X86_64
	le.PutUint32(b[20:], 1)
	le.PutUint64(b[32:], 64)
	le.PutUint16(b[52:], 64)
	le.PutUint16(b[54:], 56)
	le.PutUint16(b[56:], 1)
	le.PutUint32(b[64:], 3) // PT_INTERP
	le.PutUint64(b[72:], 64+56)
	le.PutUint64(b[96:], uint64(len(path)+1))
	return b
}

func FuzzInterpreter(f *testing.F) {
	f.Add([]byte("#! /bin/sh -e\n"))
	f.Add([]byte("#!\r\n"))
	f.Add(elfWith("/lib/ld.so"))
	f.Add(elfWith("/lib/ld.so")[:100])
	f.Fuzz(func(t *testing.T, head []byte) {
		kind, path := host.Interpreter(head)
		if (path != "") && kind == "" || len(path) > len(head) || strings.ContainsAny(path, "\x00\n") && kind == host.Script {
			t.Errorf("%q: %s %q", head, kind, path)
		}
	})
}

// TestErrorLines: the operation and the cause come first, and the step with its call last.
func TestErrorLines(t *testing.T) {
	e := &spec.Error{Op: "mounts[0]", Detail: "same_file($67, 0xfe00, 611)", Step: 234, Of: 284, Errno: 116, Remedy: "share another"}
	const cause = "stale file handle; share another (step 234 of 284"
	if got := e.Error(); got != "mounts[0]: "+cause+": same_file($67, 0xfe00, 611))" {
		t.Error(got)
	}
	if got := e.Named("--work"); got != "--work: "+cause+", mounts[0]: same_file($67, 0xfe00, 611))" {
		t.Error(got)
	}
	plain := &spec.Error{Op: "limits.memory", Detail: "control group: none", Remedy: "make one"}
	if got := plain.Named("--memory"); got != "--memory: control group: none; make one" {
		t.Error(got)
	}
}
