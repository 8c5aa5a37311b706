package lint

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// command begins a documented command: variables, and a program of ours or of the surrounding text.
	command = regexp.MustCompile(`^(?:[A-Z_]+=\S+ )*(?:bin/)?(?:brig|brigd|brigd-queue|brig-bench|bwrap|isolate|make|curl|go|` +
		`mkdir|chown|ln|install|npm|echo|python3) `)
	comment     = regexp.MustCompile(`\s{2,}#.*$`)
	quoted      = regexp.MustCompile("`((?:bin/)?(?:brig|brigd|make)(?: [^`]+)?)`")
	placeholder = regexp.MustCompile(`\b[A-Z]{2,}\b|\.\.\.|…|<`)
	bold        = regexp.MustCompile(`(?m)^\\fB(.*)\\fR$`)
)

// commands returns the commands of a document: lines of its indented blocks, complete ones in its sentences, and the
// examples of a manual page.
func commands(path, text string) (list []string) {
	add := func(line string) {
		line = strings.TrimPrefix(strings.TrimSpace(comment.ReplaceAllString(strings.TrimSpace(line), "")), "$ ")
		if command.MatchString(line + " ") {
			list = append(list, line)
		}
	}
	if filepath.Ext(path) != ".md" && filepath.Ext(path) != ".txt" {
		for _, m := range bold.FindAllStringSubmatch(text, -1) {
			add(strings.NewReplacer(`\-`, "-", `\(aq`, "'", `\e`, `\`).Replace(m[1]))
		}
		return list
	}
	for line := range strings.Lines(text) {
		if block, ok := strings.CutPrefix(line, "    "); ok {
			add(block)
		}
	}
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		if words := strings.Join(strings.Fields(m[1]), " "); !placeholder.MatchString(words) && strings.Contains(words, " ") {
			add(words)
		}
	}
	return list
}

// TestDocumentedCommands: scripts/docs/commands has each command of the documents, and no other. scripts/docs/test.sh
// executes it.
func TestDocumentedCommands(t *testing.T) {
	known := map[string]bool{} // and whether a document has it
	for line := range strings.Lines(read(t, "scripts/docs/commands")) {
		if kind := line[0]; kind != '$' && kind != '&' && kind != '-' {
			continue
		}
		shown, _, _ := strings.Cut(strings.TrimSpace(line[2:]), " ==> ")
		shown, _, _ = strings.Cut(shown, " ## ")
		known[shown] = false
	}
	n := 0
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/benchmarks/README.md", "docs/*.[18]", "cmd/brig/topics.txt",
		"clients/python/README.md"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatal(pattern, err)
		}
		for _, path := range paths {
			name := strings.TrimPrefix(path, root+"/")
			if name == "docs/features.md" { // names of verbs, each with its test
				continue
			}
			for _, c := range commands(path, read(t, name)) {
				if n++; !hasKey(known, c) {
					t.Errorf("%s has a command that scripts/docs/commands does not execute:\n%s", name, c)
				}
				known[c] = true
			}
		}
	}
	for c, documented := range known {
		if !documented {
			t.Errorf("scripts/docs/commands has a command that no document has: %s", c)
		}
	}
	if n < 60 {
		t.Errorf("only %d commands were found: the test is broken", n)
	}
}

func hasKey(m map[string]bool, key string) bool { _, ok := m[key]; return ok }
