package gitdata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// gitIndex returns an index of files with such names, without extensions. The names are of one length class: below 4095.
func gitIndex(hash int, names ...string) []byte {
	b := append([]byte("DIRC"), 0, 0, 0, 2, 0, 0, 0, byte(len(names)))
	for _, name := range names {
		start := len(b)
		b = append(b, make([]byte, statSize)...)
		binary.BigEndian.PutUint32(b[start+24:], 0o100755)
		b = append(b, make([]byte, hash)...)
		b = binary.BigEndian.AppendUint16(b, uint16(min(len(name), nameMask)))
		b = append(b, name...)
		for b = append(b, 0); (len(b)-start)%8 != 0; {
			b = append(b, 0)
		}
	}
	return b
}

func extension(name string, data []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte(name), uint32(len(data))), data...)
}

func numbers(list ...int) (b []byte) {
	for _, n := range list {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return b
}

func badIndex(b []byte, hash int) string {
	return BadIndex(bytes.NewReader(b), int64(len(b)), hash, func() []string { return []string{"sub"} })
}

// TestBadIndex: an index names files of the work tree, however it is read.
func TestBadIndex(t *testing.T) {
	const own, none = "it names files of git's own", "it is no index"
	end := make([]byte, 20)
	two := gitIndex(20, "a", "d/b")
	inner := gitIndex(20, ".git/hooks/pre-commit")
	second := 12 + (statSize+22+1+8)&^7
	eoie := func(at int) []byte { return extension("EOIE", append(numbers(at), end...)) }
	longName := gitIndex(20, "ab.git/hooks/x")
	longName[12+statSize+20+1] = 4 // git takes four bytes of the name
	for name, c := range map[string]struct {
		index []byte
		want  string
	}{
		"good":                            {two, ""},
		"no file":                         {gitIndex(20), ""},
		"a long name":                     {gitIndex(20, strings.Repeat("long/", 1000)+"x"), ""},
		"a cache":                         {append(bytes.Clone(two), extension("TREE", []byte("x"))...), ""},
		"a hook":                          {gitIndex(20, ".git/hooks/pre-commit"), own},
		"in a submodule":                  {gitIndex(20, "sub/.git/config"), own},
		"without case":                    {gitIndex(20, ".GIT/config"), own},
		"a short name":                    {gitIndex(20, "GIT~1/config"), own},
		"dots at its end":                 {gitIndex(20, ".git. ./config"), own},
		"above":                           {gitIndex(20, "../x"), own},
		"from the root":                   {gitIndex(20, "/etc/x"), own},
		"no name":                         {gitIndex(20, ""), none},
		"a part of a split one":           {append(gitIndex(20, "", "a"), extension("link", end)...), ""},
		"a length that is not the name's": {longName, none},
		"a block of another place": {append(bytes.Clone(two),
			extension("IEOT", numbers(1, 12, 1, 16, 1))...), none},
		"blocks":                  {append(append(bytes.Clone(two), extension("IEOT", numbers(1, 12, 1, second, 1))...), eoie(len(two))...), ""},
		"blocks of others":        {append(bytes.Clone(two), extension("IEOT", numbers(1, 12, 1, second, 2))...), none},
		"an end at another place": {append(bytes.Clone(two), eoie(12)...), none},
		"a hidden end":            {append(bytes.Clone(two), extension("XXXX", append(inner, eoie(len(two)+8)...))...), none},
		"cut":                     {two[:len(two)-3], none},
		"another file":            {[]byte("PACK" + string(two[4:])), none},
		"version 5":               {append([]byte("DIRC\x00\x00\x00\x05"), two[8:]...), none},
		"too many":                {append([]byte("DIRC\x00\x00\x00\x02\xff\xff\xff\xff"), two[12:]...), none},
	} {
		if got := badIndex(append(bytes.Clone(c.index), end...), 20); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestIndexOfGit: what git(1) writes comes to the host.
func TestIndexOfGit(t *testing.T) {
	const empty = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391" // hash-object of nothing
	dir, input := t.TempDir(), strings.Builder{}
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(input.String())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	check := func(what string, hash int) {
		t.Helper()
		list, _ := filepath.Glob(dir + "/.git/sharedindex.*")
		for _, name := range append(list, dir+"/.git/index") {
			b, err := os.ReadFile(name)
			if err != nil || len(b) < 100 {
				t.Fatal(what, err, len(b))
			}
			if why := badIndex(b, hash); why != "" {
				t.Errorf("%s: %s: %s", what, filepath.Base(name), why)
			}
		}
	}
	for i := range 300 {
		name := fmt.Sprintf("%s/dir%d/file%03d", dir, i%7, i)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "one")
	check("version 2", 20)
	git("update-index", "--index-version", "4")
	check("version 4", 20)
	git("update-index", "--index-version", "2")
	git("add", "--intent-to-add", ".")
	git("update-index", "--split-index")
	git("rm", "-q", "--cached", "dir1/file001")
	check("split", 20)
	git("update-index", "--no-split-index")
	git("sparse-checkout", "set", "--cone", "--sparse-index", "dir1")
	check("sparse", 20)
	git("init", "-q", "many")
	git("-C", "many", "hash-object", "-w", "--stdin")
	for i := range 20001 { // from 20,000 files on, git(1) names the blocks
		fmt.Fprintf(&input, "100644 %s\tdir%d/file%d\n", empty, i%50, i)
	}
	dir += "/many"
	git("-c", "index.threads=4", "update-index", "--index-info")
	check("version 2 in blocks", 20)
	git("-c", "index.threads=4", "update-index", "--index-version", "4")
	check("version 4 in blocks", 20)
	if b, err := os.ReadFile(dir + "/.git/index"); err != nil || !bytes.Contains(b, []byte("IEOT")) {
		t.Error("git has named no blocks", err)
	}
	dir = filepath.Dir(dir)
	if err := errors.Join(os.RemoveAll(dir+"/.git"), os.RemoveAll(dir+"/many")); err != nil {
		t.Fatal(err)
	}
	git("init", "-q", "--object-format=sha256")
	git("add", ".")
	check("SHA-256", 32)
	config, err := os.ReadFile(dir + "/.git/config")
	if err != nil || hashSize(string(config)) != 32 || hashSize("[core]\n\tbare = false\n") != 20 {
		t.Errorf("%v: %s", err, config)
	}
}

func FuzzBadIndex(f *testing.F) {
	f.Add(append(gitIndex(20, "a", "d/b"), make([]byte, 20)...))
	f.Add(append(append(gitIndex(20, "a"), extension("IEOT", numbers(1, 12, 1))...), make([]byte, 20)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if badIndex(b, 20) == "" && bytes.Contains(b, []byte("\x00.git/hooks/x\x00")) {
			t.Errorf("%q", b) // only in extensions
		}
	})
}
