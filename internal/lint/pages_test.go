package lint

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"brig/internal/test/house"
)

// Bounds of what people read: a page at a sitting, a line beside its change, and all documents in a day. Bounds and rows
// only fall.
const (
	maxPageKB      = 25
	maxDocColumns  = 160
	maxDocumentsKB = 250
)

// documents returns the pages of the root and of docs, by their path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	each(t, ".md", func(path string, content []byte) {
		name := strings.TrimPrefix(path, root+"/")
		if !strings.Contains(name, "/") || strings.HasPrefix(name, "docs/") {
			pages[name] = string(content)
		}
	})
	return pages
}

// TestPages bounds each document, its lines, and all of them together.
func TestPages(t *testing.T) {
	sizes, long, all := map[string]int{}, map[string]int{}, 0
	for name, text := range documents(t) {
		all += len(text)
		sizes[name] = (len(text) + 1023) / 1024
		long[name] = 0
		for line := range strings.Lines(text) {
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > maxDocColumns {
				long[name]++
			}
		}
	}
	house.Bound(t, "KB of a document", maxPageKB, nil, sizes)
	house.Bound(t, "lines of more than 160 columns in a document", 0, nil, long)
	house.Bound(t, "KB", maxDocumentsKB, nil, map[string]int{"all of the documents": (all + 1023) / 1024})
	if len(sizes) < 50 {
		t.Errorf("only %d documents were found: the test is broken", len(sizes))
	}
}

// TestDecisions: each page of docs/decisions has its date, its parts, a line in the index and a number of its own.
func TestDecisions(t *testing.T) {
	const dir = "docs/decisions/"
	index := read(t, dir+"README.md")
	whole := regexp.MustCompile(`(?s)^# \d{3}: [^\n]+\n\nDecided \d{4}-\d\d-\d\d.*\n## Context\n.*\n## Decision\n.*\n## Rejected\n`)
	numbers := map[string]bool{}
	for name, text := range documents(t) {
		page, ok := strings.CutPrefix(name, dir)
		if !ok || page == "README.md" {
			continue
		}
		if !whole.MatchString(text) {
			t.Errorf("%s has no date, context, decision or rejected ways", name)
		}
		title, _, _ := strings.Cut(text, "\n")
		number, title, _ := strings.Cut(strings.TrimPrefix(title, "# "), ": ")
		if line := "\n- [" + number + "](" + page + ") " + title + "\n"; !strings.Contains(index, line) {
			t.Errorf("the index of decisions has no line%s", line)
		}
		if numbers[number] || !strings.HasPrefix(page, number+"-") {
			t.Errorf("%s: its number is not its own", filepath.Base(page))
		}
		numbers[number] = true
	}
	if lines := strings.Count(index, "\n- ["); lines != len(numbers) {
		t.Errorf("the index has %d lines for %d decisions", lines, len(numbers))
	}
}
