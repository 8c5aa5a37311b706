package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"brig/internal/test/house"
	"brig/internal/test/must"
)

const promisesPage = "testdata/promises/README.md"

// labelled is a link, of which a promise keeps the label.
var labelled = regexp.MustCompile(`\[([^\]]*)\]\([^)\s]*\)`)

// untested are the items of a page that no test is named for: explanations, and what only a guest or a reader sees.
var untested = map[string]int{
	"docs/reference/attacks.md": 4, "docs/reference/control-groups.md": 11, "docs/reference/cow.md": 3,
	"docs/reference/denials.md": 3, "docs/reference/dialects.md": 1, "docs/reference/host-memory.md": 4,
	"docs/reference/identity.md": 3, "docs/reference/images.md": 1, "docs/reference/limits.md": 5,
	"docs/reference/network.md": 12, "docs/reference/process-tier.md": 6, "docs/reference/protected-paths.md": 15,
	"docs/reference/report.md": 14, "docs/reference/runner.md": 3, "docs/reference/seccomp.md": 2,
	"docs/reference/streams.md": 5, "docs/reference/usage.md": 2, "docs/reference/view.md": 9,
}

// promisesOf returns the items, rows and paragraphs of a page, each as one line; items begin with "- ".
func promisesOf(page string) (list []string) {
	var block []string
	end := func() {
		if text := strings.Join(strings.Fields(strings.Join(block, " ")), " "); text != "" {
			list = append(list, strings.TrimPrefix(text, "| "))
		}
		block = nil
	}
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "|") || line == "\n" {
			end()
		}
		block = append(block, line)
	}
	end()
	return list
}

// promise is an item of the table: the page, the words that the promise begins with, and its tests.
type promise struct{ page, begins, tests string }

func promises(t *testing.T) (list []promise) {
	t.Helper()
	page := ""
	for _, text := range promisesOf(read(t, promisesPage)) {
		if m := regexp.MustCompile(`^## \[[a-z-]+\]\(\.\./\.\./(docs/reference/[a-z-]+\.md)\)$`).FindStringSubmatch(text); m != nil {
			page = m[1]
		} else if item, ok := strings.CutPrefix(text, "- "); ok {
			begins, tests, _ := strings.Cut(item, " … ")
			list = append(list, promise{page, begins, tests})
		}
	}
	return list
}

// TestPromises: each promise of the table is one of its page, and has a test that is there. TestNamedTestsExist finds
// the tests; the stories of TestScript are files.
func TestPromises(t *testing.T) {
	pages, tested := map[string][]string{}, map[string]map[string]bool{}
	for _, path := range must.Get(filepath.Glob(filepath.Join(root, "docs/reference/*.md")))(t) {
		name := strings.TrimPrefix(path, root+"/")
		pages[name] = promisesOf(labelled.ReplaceAllString(read(t, name), "$1"))
		tested[name] = map[string]bool{}
	}
	list := promises(t)
	if len(list) < 300 {
		t.Errorf("only %d promises are in the table: the test is broken", len(list))
	}
	for _, p := range list {
		if !testName.MatchString(p.tests) {
			t.Errorf("%s: no test of %q", promisesPage, p.begins)
		}
		for _, m := range regexp.MustCompile("`TestScript/([a-z-]+)`").FindAllStringSubmatch(p.tests, -1) {
			if _, err := os.Stat(filepath.Join(root, "testdata/script", m[1]+".txtar")); err != nil {
				t.Errorf("%s: no story %s: %v", promisesPage, m[1], err)
			}
		}
		found := 0
		for _, text := range pages[p.page] {
			if strings.HasPrefix(strings.TrimPrefix(text, "- "), p.begins) {
				tested[p.page][text] = true
				found++
			}
		}
		if found != 1 {
			t.Errorf("%s: %d promises of %s begin with %q", promisesPage, found, p.page, p.begins)
		}
	}
	without := map[string]int{}
	for name, texts := range pages {
		if name == "docs/reference/README.md" { // the index
			continue
		}
		for _, text := range texts {
			if strings.HasPrefix(text, "- ") && !tested[name][text] {
				without[name]++
			}
		}
	}
	house.Bound(t, "items without a test in "+promisesPage, 0, untested, without)
}
