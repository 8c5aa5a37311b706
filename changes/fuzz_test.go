package changes

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"brig/internal/test/must"
)

// What parses has only paths below a directory, and is written again as it was.
func FuzzManifest(f *testing.F) {
	digest := strings.Repeat("0", 64)
	f.Add(`{"path":"a","old":{"kind":"file","mode":420,"size":1,"sha256":"`+digest+`","mtime":1,"inode":2}}`, "{}")
	f.Add(`{"path":"\"a\\377\"","new":{"kind":"symlink","mode":511,"target":"../x"}}`+"\n"+`{"path":"b","new":{"kind":"dir","mode":493}}`, "")
	f.Add(`{"path":"../a","new":{"kind":"dir","mode":493}}`, `{"version":1,"dir":{"path":"/x","device":1,"inode":2},"run":{"exit_code":0,
"started":"2026-01-01T00:00:00Z","ended":"2026-01-01T00:00:00Z"},"counts":{},"files":{"mediaType":"`+filesMedia+`","digest":"sha256:`+digest+
		`","size":1},"layer":{"mediaType":"`+layerMedia+`","digest":"sha256:`+digest+`","size":1}}`)
	f.Fuzz(func(t *testing.T, lines, header string) {
		var h Header
		if err := h.parse([]byte(header)); err == nil && (h.Layer.Size < 0 || h.Version < 1 || h.Version > version) {
			t.Errorf("%+v", h)
		}
		list, err := parseFiles(strings.NewReader(lines))
		if err != nil {
			return
		}
		var again bytes.Buffer
		enc := json.NewEncoder(&again)
		for _, file := range list {
			for name := range strings.SplitSeq(string(file.Path), "/") {
				if name == "" || name == "." || name == ".." || strings.IndexByte(name, 0) >= 0 {
					t.Fatalf("%q", file.Path)
				}
			}
			must.Do(t, enc.Encode(file))
		}
		twice, err := parseFiles(&again)
		if err != nil || len(twice) != len(list) {
			t.Fatalf("%d changes, then %d, %v", len(list), len(twice), err)
		}
		for i := range list {
			if list[i].Path != twice[i].Path {
				t.Fatalf("%q, then %q", list[i].Path, twice[i].Path)
			}
		}
		if _, err := choose(list, []string{"a"}); err == nil {
			withRenames(list)
		}
	})
}

// The index of any archive has contents that are within it.
func FuzzIndex(f *testing.F) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range []*tar.Header{{Name: "d/", Typeflag: tar.TypeDir, Mode: 0o755}, {Name: "d/x", Typeflag: tar.TypeReg, Size: 3},
		{Name: "l", Typeflag: tar.TypeLink, Linkname: "d/x"}, {Name: "s", Typeflag: tar.TypeSymlink, Linkname: "/etc"}} {
		must.Do(f, w.WriteHeader(h))
		if h.Size > 0 {
			must.Get(w.Write([]byte("abc")))(f)
		}
	}
	must.Do(f, w.Close())
	f.Add(b.Bytes())
	f.Add([]byte("not an archive"))
	f.Fuzz(func(t *testing.T, archive []byte) {
		got := newSum()
		spans, err := index(io.TeeReader(bytes.NewReader(archive), got), got)
		if err != nil {
			return
		}
		for k, s := range spans {
			if s.at < 0 || s.size < 0 || s.at+s.size > int64(len(archive)) {
				t.Fatalf("%x: %+v of %d bytes", k, s, len(archive))
			}
		}
	})
}

// Names come back from JSON, are one line of ASCII where git's form is printed, and no text steers a terminal.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"a", "é", "\"", "\\", "a\nb", "\x1b[2J", "\xff", "\"\\377\"", "\u202e", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := must.Get(json.Marshal(Name(s)))(t)
		var back Name
		if err := json.Unmarshal(text, &back); err != nil || string(back) != s {
			t.Fatalf("%q is %q in JSON, and %q again: %v", s, text, back, err)
		}
		if strings.ContainsFunc(GitQuote(s), func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Fatalf("%q", GitQuote(s))
		}
		line := escaped(s)
		if !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return r != '\t' && !unicode.IsPrint(r) }) {
			t.Fatalf("%q", line)
		}
		if err := back.UnmarshalText([]byte(GitQuote(s))); GitQuote(s) != s && (err != nil || string(back) != s) {
			t.Fatalf("%q is %q again: %v", GitQuote(s), back, err)
		}
		_ = back.UnmarshalText([]byte(s))
		added, removed := countLines(unified([]byte(s), []byte(line)))
		if (s == line) != (added+removed == 0) {
			t.Fatalf("+%d -%d of %q", added, removed, s)
		}
	})
}
