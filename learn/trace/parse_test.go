package trace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"brig/internal/test/must"
	"brig/learn"

	"golang.org/x/sys/unix"
)

const query = "\302\000\001\000\000\001\000\000\000\000\000\000\007Example\003com\000\000\001\000\001"

func TestQuestion(t *testing.T) {
	for in, want := range map[string]string{query: "example.com", "": "", query[:20]: "", strings.Replace(query, "\003com", "\000com", 1): "",
		strings.Replace(query, "Ex", "\033x", 1): "", "\302\000\201" + query[3:]: ""} {
		if got := question([]byte(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestAddress(t *testing.T) {
	for in, want := range map[string]string{
		"\002\000\001\273\300\000\002\001\000\000\000\000\000\000\000\000":                "192.0.2.1:443 ",
		"\012\000\001\273\000\000\000\000" + strings.Repeat("\000", 15) + "\001" + "zzzz": "[::1]:443 ",
		"\001\000/run/x\000y": "invalid AddrPort /run/x", "\001\000\000abstract": "invalid AddrPort ", "\002": "invalid AddrPort ", "\002\000\001\273\300": "invalid AddrPort ",
	} {
		if to, p := address([]byte(in)); to.String()+" "+p != want {
			t.Errorf("%q: %s %q, want %q", in, to, p, want)
		}
	}
}

func FuzzMessages(f *testing.F) {
	f.Add([]byte(query))
	f.Add([]byte("\001\000/run/x\000y"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if name := question(data); name != strings.ToLower(name) || strings.ContainsAny(name, "\x00\x1b /\n") || len(name) > 253 {
			t.Errorf("the name %q", name)
		}
		_, _ = address(data)
	})
}

// TestPeek: memory is read up to the page that is not there.
func TestPeek(t *testing.T) {
	page := os.Getpagesize()
	m := must.Get(unix.Mmap(-1, 0, 2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON))(t)
	defer unix.Munmap(m)
	must.Do(t, unix.Mprotect(m[page:], unix.PROT_NONE))
	copy(m[page-9:], "/a/path\000x")
	for from, want := range map[int]string{page - 9: "/a/path", page - 1: "none", page: "none", 0: ""} {
		got, ok := text(os.Getpid(), addressOf(m, from))
		if !ok {
			got = "none"
		}
		if got != want {
			t.Errorf("at %d: %q, want %q", from, got, want)
		}
	}
	if _, ok := text(os.Getpid(), 0); ok {
		t.Error("a null pointer has a text")
	}
}

// TestNodes: links are followed as in the jail, whose root is not the host's.
func TestNodes(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"in/sub", "real"} {
		must.Do(t, os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	for name, text := range map[string]string{"real/file": "", "in/run": "#! " + dir + "/real/sh -e\n", "real/sh": ""} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	}
	for name, to := range map[string]string{"in/abs": dir + "/real/file", "in/rel": "../other/file", "in/loop": "loop", "in/up": "../../../../.." + dir + "/real/file"} {
		must.Do(t, os.Symlink(to, filepath.Join(dir, name)))
	}
	places := []learn.Place{{At: "/", Host: "/"}, {At: "/in", Host: dir + "/in"}, {At: "/other", Host: dir + "/real"},
		{At: "/no/where", Host: dir}}
	for at, want := range map[string]string{
		"/in/abs": "/in/abs " + dir + "/real/file", "/in/rel": "/in/rel /other/file", "/in/loop": "", "/in/none": "",
		"/in/sub": "/in/sub", "/in/run": "/in/run " + dir + "/real/sh", "/in/up": "/in/up " + dir + "/real/file",
		"/in/abs/x": "", "/no/where/real/sh": "/no/where/real/sh", "/no/thing": "", "/usr/bin/env": "",
	} {
		var got []string
		for _, n := range Nodes(places, at) {
			got = append(got, n.At)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", at, got, want)
		}
	}
}

func addressOf(m []byte, at int) uint64 { return uint64(uintptr(unsafe.Pointer(&m[0]))) + uint64(at) }
