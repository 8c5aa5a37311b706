package lint

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"brig/internal/cli"
	"brig/internal/test/must"
)

// skipped are the directories that are not the project's own text.
func skipped(name string) bool {
	return name == ".git" || name == "bin" || name == "dist" || name == "node_modules"
}

// each calls f for every file of the project with this ending.
func each(t *testing.T, ending string, f func(path string, content []byte)) {
	t.Helper()
	eachOf(t, root, ending, f)
}

// eachOf calls f for every file below a directory with this ending. The directory is read once for all tests.
func eachOf(t *testing.T, dir, ending string, f func(path string, content []byte)) {
	t.Helper()
	if filesOnce[dir] == nil {
		filesOnce[dir] = filesBelow(t, dir)
	}
	for _, file := range filesOnce[dir] {
		if strings.HasSuffix(file.path, ending) {
			f(file.path, file.content)
		}
	}
}

type textFile struct {
	path    string
	content []byte
}

var filesOnce = map[string][]textFile{}

// filesBelow reads every file below a directory.
func filesBelow(t *testing.T, dir string) (list []textFile) {
	t.Helper()
	must.Do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && skipped(d.Name()) {
			return fs.SkipDir
		}
		if d.IsDir() {
			return nil
		}
		b, err := os.ReadFile(path)
		list = append(list, textFile{path, b})
		return err
	}))
	return list
}

func read(t *testing.T, name string) string {
	t.Helper()
	b := must.Get(os.ReadFile(filepath.Join(root, name)))(t)
	return string(b)
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestLinks: each link of a document to the repository leads to a file, and to a heading if it names one.
func TestLinks(t *testing.T) {
	n := 0
	each(t, ".md", func(path string, content []byte) { n += checkLinks(t, path, content) })
	if n < 20 {
		t.Errorf("only %d links were found: the test is broken", n)
	}
}

// TestInstalledLinks: what make install and the packages have of the documents leads nowhere outside of them.
func TestInstalledLinks(t *testing.T) {
	dir, n := t.TempDir(), 0
	if out, err := exec.Command(filepath.Join(root, "scripts/docs/install.sh"), dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, page := range []string{"README.md", "THREATS.md", "docs/agents.md", "docs/reference/README.md", "docs/decisions/README.md"} {
		if _, err := os.Stat(filepath.Join(dir, page)); err != nil {
			t.Error(err)
		}
	}
	eachOf(t, dir, ".md", func(path string, content []byte) { n += checkLinks(t, path, content) })
	if n < 150 {
		t.Errorf("only %d links were found: the script takes too many away", n)
	}
}

// checkLinks returns the number of links to files in a document.
func checkLinks(t *testing.T, path string, content []byte) (n int) {
	t.Helper()
	for _, m := range link.FindAllSubmatch(content, -1) {
		to := string(m[1])
		if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
			continue
		}
		n++
		file, anchor, _ := strings.Cut(to, "#")
		target := path
		if file != "" {
			target = filepath.Join(filepath.Dir(path), file)
		}
		if _, err := os.Stat(target); err != nil {
			t.Errorf("%s: the link to %s leads nowhere", path, to)
			continue
		}
		if anchor != "" && !hasHeading(t, target, anchor) {
			t.Errorf("%s: %s has no heading #%s", path, target, anchor)
		}
	}
	return n
}

// hasHeading compares as forges make anchors: lower case, spaces to hyphens, punctuation dropped.
func hasHeading(t *testing.T, file, anchor string) bool {
	t.Helper()
	b := must.Get(os.ReadFile(file))(t)
	for line := range strings.Lines(string(b)) {
		if !strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.ToLower(strings.TrimSpace(strings.TrimLeft(line, "#")))
		slug := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(words, "")
		if strings.ReplaceAll(slug, " ", "-") == anchor {
			return true
		}
	}
	return false
}

var testName = regexp.MustCompile("`((?:Test|Fuzz|Benchmark|Example)[A-Z][A-Za-z0-9_]*)(?:/[^`]*)?`")

// TestNamedTestsExist: a document with "enforced by TestX" is wrong without a TestX.
func TestNamedTestsExist(t *testing.T) {
	have := map[string]bool{}
	def := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)[A-Za-z0-9_]*)\(`)
	each(t, "_test.go", func(_ string, content []byte) {
		for _, m := range def.FindAllSubmatch(content, -1) {
			have[string(m[1])] = true
		}
	})
	n := 0
	each(t, ".md", func(path string, content []byte) {
		for _, m := range testName.FindAllSubmatch(content, -1) {
			if n++; !have[string(m[1])] {
				t.Errorf("%s names %s, which no file defines", path, m[1])
			}
		}
	})
	if n < 30 {
		t.Errorf("only %d tests are named: the test is broken", n)
	}
}

// TestFlagsExist: the README shows no flag that brig run does not have; a block about brigd has a test of its own,
// which runs it.
func TestFlagsExist(t *testing.T) {
	before, rest, _ := strings.Cut(read(t, "README.md"), "## 60 seconds to an agent\n")
	_, after, _ := strings.Cut(rest, "\n## ")
	help := read(t, "cmd/brig/testdata/help-run.txt")
	flag := regexp.MustCompile(`(?:^|[\s` + "`" + `(])(--[a-z][a-z-]*[a-z])`)
	for _, m := range flag.FindAllStringSubmatch(before+after, -1) {
		if !regexp.MustCompile(`\s` + m[1] + `\b`).MatchString(help) {
			t.Errorf("README.md: brig run has no %s", m[1])
		}
	}
}

// TestDocumentsAreSafeAndShort: no document holds a control character, and the README can be read in one sitting.
func TestDocumentsAreSafeAndShort(t *testing.T) {
	each(t, ".md", func(path string, content []byte) {
		if i := bytes.IndexFunc(content, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }); i >= 0 {
			t.Errorf("%s: byte %d is a control character", path, i)
		}
	})
	if n := strings.Count(read(t, "README.md"), "\n"); n > 150 {
		t.Errorf("README.md has %d lines; 150 are enough", n)
	}
}

// TestChangelog: the newest heading of CHANGELOG.md is this version.
func TestChangelog(t *testing.T) {
	heading := regexp.MustCompile(`(?m)^## \[([^]]+)]`).FindStringSubmatch(read(t, "CHANGELOG.md"))
	if len(heading) == 0 || heading[1] != cli.Version {
		t.Errorf("CHANGELOG.md begins with %q, and this is version %s", heading, cli.Version)
	}
}

// TestTheMapHasEveryRoom: each package of the import table is in CONTRIBUTING.md's, by itself or below a row.
func TestTheMapHasEveryRoom(t *testing.T) {
	_, text, _ := strings.Cut(read(t, "CONTRIBUTING.md"), "## The rooms\n")
	text, _, _ = strings.Cut(text, "\n## ")
	rooms := map[string]bool{}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(strings.Split(line, "|")[1], -1) {
			before, list, some := strings.Cut(strings.TrimSuffix(m[1], "}"), "{")
			if !some {
				list = ""
			}
			for name := range strings.SplitSeq(list, ",") {
				rooms["brig/"+before+name] = true
			}
		}
	}
	for room := range ours {
		top := room
		for top != "brig" && !rooms[top] {
			top = filepath.Dir(top)
		}
		if top == "brig" {
			t.Errorf("CONTRIBUTING.md's map of the rooms lacks %s", room)
		}
	}
	for room := range rooms {
		if _, err := os.Stat(filepath.Join(root, strings.TrimPrefix(room, "brig/"))); err != nil {
			t.Errorf("CONTRIBUTING.md's map has a room that is not there: %v", err)
		}
	}
}
