package layer

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// names lists the entries of a layer whose last component has a prefix.
func names(t testing.TB, l []byte, prefix string) string {
	t.Helper()
	var found []string
	for r := tar.NewReader(bytes.NewReader(l)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return strings.Join(found, " ")
		}
		must.Do(t, err)
		if strings.HasPrefix(h.Name[strings.LastIndexByte(h.Name, '/')+1:], prefix) && !strings.HasSuffix(h.Name, "/") {
			found = append(found, h.Name)
		}
	}
}

// raw writes entries that archive/tar does not write: tar(5).
func raw(entries ...[3]string) []byte {
	var b bytes.Buffer
	for _, e := range entries {
		kind, name, data := e[0], e[1], e[2]
		h := make([]byte, 512)
		copy(h, name)
		copy(h[100:], fmt.Sprintf("%07o\x00%07o\x00%07o\x00%011o\x00%011o\x00        ", 0o644, 0, 0, len(data), 0))
		h[156] = kind[0]
		copy(h[257:], "ustar\x0000")
		sign(h)
		b.Write(h)
		b.WriteString(data)
		b.Write(make([]byte, -len(data)&511))
	}
	b.Write(make([]byte, 1024))
	return b.Bytes()
}

// sign writes the checksum of a header.
func sign(h []byte) {
	copy(h[148:], "        ")
	sum := 0
	for _, c := range h {
		sum += int(c)
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
}

// repair signs each header of an archive, so that what is fuzzed comes further than to the checksum.
func repair(l []byte) []byte {
	l = slices.Clone(l)
	for at := 0; at+512 <= len(l); {
		h := l[at : at+512]
		if !bytes.Equal(h, zeros[:512]) {
			sign(h)
		}
		size, err := strconv.ParseInt(strings.Trim(string(h[124:136]), " \x00"), 8, 32)
		if err != nil {
			size = 0
		}
		at += 512 + int(size+511)&^511
	}
	return l
}

// record is a line of a PAX header: its length in decimal comes first, and counts itself.
func record(key, value string) string {
	n := len(key) + len(value) + 3
	for n != len(fmt.Sprint(n))+len(key)+len(value)+3 {
		n = len(fmt.Sprint(n)) + len(key) + len(value) + 3
	}
	return fmt.Sprintf("%d %s=%s\n", n, key, value)
}

// TestRaw unpacks archives that no well-meaning program writes, or that only others than Go's write.
func TestRaw(t *testing.T) {
	sparse := "1\n1048576\n4\n" + strings.Repeat("\x00", 512-len("1\n1048576\n4\n")) + "data"
	for name, c := range map[string]struct {
		archive []byte
		tree    []string
		err     string
	}{
		"nothing": {archive: nil},
		"text":    {archive: bytes.Repeat([]byte("text"), 1000), err: "not a tar archive, or a damaged one"},
		"an end within a file": {archive: raw([3]string{"0", "x", strings.Repeat("x", 5000)})[:2000],
			err: `"x": not a tar archive, or a damaged one: unexpected EOF`},
		"a NUL in a name": {archive: raw([3]string{"x", "p", record("path", "a\x00b")}, [3]string{"0", "x", ""}),
			err: "not a tar archive, or a damaged one"},
		"a NUL in a GNU long name ends it": {archive: raw([3]string{"L", "l", "a\x00b"}, [3]string{"0", "x", ""}),
			tree: []string{"file a 644"}},
		"a name of nothing is the directory": {archive: raw([3]string{"0", "", "text"}),
			err: "the directory itself cannot become anything else"},
		"a symbolic link without a text": {archive: raw([3]string{"2", "l", ""}), err: "a symbolic link without a text"},
		"a negative size":                {archive: raw([3]string{"x", "p", record("size", "-1")}, [3]string{"0", "x", ""}), err: "not a tar archive, or a damaged one"},
		"an attribute with a NUL in its name": {archive: raw([3]string{"x", "p", record(paxXattr+"user.a\x00b", "v")},
			[3]string{"0", "x", ""}), err: "not a tar archive, or a damaged one"},
		"a sparse file": {archive: raw([3]string{"x", "p", record("GNU.sparse.major", "1") + record("GNU.sparse.minor", "0") +
			record("GNU.sparse.name", "s") + record("GNU.sparse.realsize", "1048580")}, [3]string{"0", "x", sparse}),
			tree: []string{"file s 644 1048580 bytes"}},
		"a sparse file that grows beyond the bound": {archive: raw([3]string{"x", "p", record("GNU.sparse.major", "1") +
			record("GNU.sparse.minor", "0") + record("GNU.sparse.name", "s") + record("GNU.sparse.realsize", "9000000000000000")},
			[3]string{"0", "x", sparse}), err: "more than 17179869184 bytes: max_bytes raises the bound"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newScene(t)
			_, err := Unpack(bytes.NewReader(c.archive), p.dir, nil)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v; want %s", err, c.err)
			}
			if got := list(t, p.dir); err == nil && !slices.Equal(got, c.tree) {
				t.Errorf("the tree is %.200q, want %q", got, c.tree)
			}
			p.untouched(t)
		})
	}
}

// TestHoles: zeros take no room, and come back.
func TestHoles(t *testing.T) {
	dir := folder(t)
	text := slices.Concat(make([]byte, 1<<20), []byte("a"), make([]byte, 1<<20), []byte("b"), make([]byte, 1<<20+5))
	must.Do(t, os.WriteFile(dir.Name()+"/f", text, 0o644))
	again := unpack(t, pack(t, dir, nil))
	got, err := os.ReadFile(again.Name() + "/f")
	var st unix.Stat_t
	if err = errors.Join(err, unix.Lstat(again.Name()+"/f", &st)); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%d bytes, %v; want %d", len(got), err, len(text))
	}
	if st.Blocks*512 > 64<<10 {
		t.Errorf("it takes %d bytes", st.Blocks*512)
	}
}

// FuzzUnpack: no layer changes anything outside of the directory, and what it makes has an equal layer.
func FuzzUnpack(f *testing.F) {
	for paragraph := range strings.SplitSeq(stories, "\n\n") {
		if s := parse(f, paragraph); len(s.layer) > 0 && s.options == (Options{}) {
			l := must.Get(io.ReadAll(archive(f, &scene{out: "../outside"}, s.layer)))(f)
			f.Add(l)
		}
	}
	f.Add(raw([3]string{"x", "p", record("GNU.sparse.major", "1")}, [3]string{"0", "x", ""}))
	f.Fuzz(func(t *testing.T, l []byte) {
		p := newScene(t)
		if x, err := index(repair(l)); err == nil {
			_ = x.Unpack(p.dir, plainly) // most layers are not Pack's
			p.untouched(t)
			p.clear(t)
			p = newScene(t)
		}
		defer func() { p.clear(t) }()
		_, err := Unpack(bytes.NewReader(repair(l)), p.dir, &Options{MaxBytes: 1 << 20, MaxFiles: 1000})
		p.untouched(t)
		if err != nil {
			return
		}
		first := pack(t, p.dir, nil)
		again := unpack(t, first)
		equal(t, "the tree unpacked again", list(t, again), list(t, p.dir))
		if !bytes.Equal(pack(t, again, nil), first) {
			t.Error("its layer differs")
		}
	})
}

// clear empties the directory, whatever the modes of what is in it.
func (s *scene) clear(t testing.TB) {
	for _, e := range must.Get(os.ReadDir(s.dir.Name()))(t) {
		if err := remove(s.dir, e.Name()); err != nil {
			t.Error(err)
		}
	}
}
