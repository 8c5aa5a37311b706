package layer

import (
	"archive/tar"
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brig/internal/test/asuser"
	"brig/internal/test/must"
)

func TestMain(m *testing.M) { os.Exit(asuser.Main(m)) }

//go:embed testdata/stories.txt
var stories string

// story is a paragraph of stories.txt.
type story struct {
	name               string
	below, layer, tree []string
	options            Options
	left, err          string
}

// TestStories unpacks the crafted layers of testdata/stories.txt.
func TestStories(t *testing.T) {
	n := 0
	for paragraph := range strings.SplitSeq(stories, "\n\n") {
		if strings.HasPrefix(paragraph, "#") {
			continue
		}
		n++
		s := parse(t, paragraph)
		t.Run(s.name, func(t *testing.T) { s.tell(t) })
	}
	if n < 30 {
		t.Errorf("only %d stories", n)
	}
}

func parse(t testing.TB, paragraph string) *story {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(paragraph), "\n")
	s := &story{name: lines[0]}
	if strings.HasPrefix(paragraph, "#") {
		return s
	}
	var list *[]string
	for _, line := range lines[1:] {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(line, "\t"):
			*list = append(*list, line[1:])
		case word == "below":
			list = &s.below
		case word == "layer":
			list = &s.layer
		case word == "tree":
			list = &s.tree
		case word == "left":
			s.left = rest
		case word == "error":
			s.err = rest
		case word == "bounds":
			for o := range strings.FieldsSeq(rest) {
				name, number, _ := strings.Cut(o, "=")
				n := must.Get(strconv.ParseInt(number, 10, 64))(t)
				if name == "bytes" {
					s.options.MaxBytes = n
				} else {
					s.options.MaxFiles = n
				}
			}
		default:
			t.Fatalf("stories.txt: %q", line)
		}
	}
	return s
}

func (s *story) tell(t *testing.T) {
	p := newScene(t)
	if strings.Contains(strings.Join(s.layer, " "), "attr=") && unix.Setxattr(p.out, "user.brig", []byte("x"), 0) != nil {
		t.Skip("the file system of TMPDIR has no extended attributes: tmpfs before Linux 6.6")
	}
	p.canaries = p.outside(t)
	if s.below != nil {
		below := must.Get(Unpack(archive(t, p, s.below), p.dir, nil))(t)
		s.options.Used = below
	}
	stats, err := Unpack(archive(t, p, s.layer), p.dir, &s.options)
	if err == nil && s.err != "" || err != nil && (s.err == "" || !strings.HasSuffix(err.Error(), s.err)) {
		t.Errorf("error %v; want %s", err, s.err)
	}
	if got := stats.String(); got != s.left {
		t.Errorf("left out: %s\nwant %s", got, s.left)
	}
	if want := expand(p, s.tree); err == nil && strings.Join(list(t, p.dir), "\n") != strings.Join(want, "\n") {
		t.Errorf("the tree is\n%s\nwant\n%s", strings.Join(list(t, p.dir), "\n"), strings.Join(want, "\n"))
	}
	p.untouched(t)
}

// scene is a directory to unpack into, beside files that must not change.
type scene struct {
	dir           *os.File
	out, canaries string
}

// newScene makes $OUT with a file, and a directory beside it.
func newScene(t testing.TB) *scene {
	t.Helper()
	top := t.TempDir()
	s := &scene{out: filepath.Join(top, "outside")}
	dir := filepath.Join(top, "dir")
	for _, err := range []error{os.Mkdir(dir, 0o755), os.Mkdir(s.out, 0o755),
		os.WriteFile(filepath.Join(s.out, "canary"), []byte("alive"), 0o644)} {
		must.Do(t, err)
	}
	var err error
	if s.dir, err = os.Open(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.dir.Close() })
	s.canaries = s.outside(t)
	return s
}

// outside describes what is around the directory, with the times of change.
func (s *scene) outside(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	for _, path := range []string{filepath.Dir(s.out), s.out, filepath.Join(s.out, "canary")} {
		var st unix.Stat_t
		must.Do(t, unix.Lstat(path, &st))
		fmt.Fprintln(&b, st.Ino, st.Mode, st.Nlink, st.Size, st.Ctim)
	}
	return b.String()
}

func (s *scene) untouched(t testing.TB) {
	t.Helper()
	if now := s.outside(t); now != s.canaries {
		t.Errorf("outside of the directory something has changed:\n%swas\n%s", now, s.canaries)
	}
}

func expand(s *scene, lines []string) (out []string) {
	r := strings.NewReplacer("$OUT", s.out, "$255", strings.Repeat("n", 255), "$5000", strings.Repeat("n/", 2499)+"nn",
		"$300levels", strings.Repeat("d/", 300)+"x", "$200levels", strings.Repeat("d/", 199)+"d")
	for _, line := range lines {
		out = append(out, r.Replace(line))
	}
	return out
}

// archive makes a layer of lines "type name key=value...".
func archive(t testing.TB, s *scene, lines []string) io.Reader {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	types := map[string]byte{"file": tar.TypeReg, "dir": tar.TypeDir, "link": tar.TypeSymlink, "hard": tar.TypeLink,
		"char": tar.TypeChar, "block": tar.TypeBlock, "fifo": tar.TypeFifo, "socket": 's', "global": tar.TypeXGlobalHeader}
	for _, line := range expand(s, lines) {
		words := strings.Fields(line)
		h := &tar.Header{Typeflag: types[words[0]], Name: unquote(words[1]), Mode: 0o644, PAXRecords: map[string]string{}}
		if kind, ok := strings.CutPrefix(words[0], "type="); ok {
			h.Typeflag = kind[0]
		}
		if h.Typeflag == tar.TypeDir {
			h.Mode, h.Name = 0o755, h.Name+"/"
		}
		text := ""
		for _, option := range words[2:] {
			name, value, _ := strings.Cut(option, "=")
			switch name {
			case "text":
				text, h.Size = value, int64(len(value))
			case "size":
				h.Size, _ = strconv.ParseInt(value, 10, 64)
			case "mode":
				h.Mode, _ = strconv.ParseInt(value, 8, 64)
			case "to":
				h.Linkname = value
			case "attr":
				attr, v, _ := strings.Cut(value, "=")
				h.PAXRecords[paxXattr+attr] = v
			}
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			h = &tar.Header{Typeflag: h.Typeflag, Name: h.Name, PAXRecords: map[string]string{"comment": "x"}}
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(line, err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(line, err)
		}
	}
	_ = w.Close() // size= has no content
	return &b
}

func unquote(word string) string {
	if s, err := strconv.Unquote(word); err == nil {
		return s
	}
	return word
}
