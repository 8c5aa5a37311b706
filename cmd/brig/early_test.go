package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"brig/cmd/brig/internal/bwrap"
	"brig/cmd/brig/internal/wish"
	"brig/internal/test/asuser"
	"brig/internal/test/must"
	"brig/nsjail/spec"
)

// TestGroupedFlags holds the constructor's lists against the flag table: every flag of a control group is in one.
func TestGroupedFlags(t *testing.T) {
	beginnings := append(constructorList(t, "grouped"), constructorList(t, "alone")...)
	known := func(word string) bool {
		for _, b := range beginnings {
			if strings.HasPrefix(word, b) {
				return true
			}
		}
		return false
	}
	grouped := map[string]bool{"pids-limit": true, "no-init": true, "tier": true}
	for r := range spec.LimitTable() {
		if r.Mechanism != "" || r.Files != "" {
			grouped[r.Flag] = true
		}
	}
	for _, f := range wish.NewDraft("run", nil).Flags() {
		if want := grouped[f.Name] || f.Group == "Control group"; known("--"+f.Name) != want {
			t.Errorf("--%s: in the list %v, want %v", f.Name, !want, want)
		}
	}
	if !known("-m") {
		t.Error("-m is not in the list")
	}
}

// TestKeepersOfBwrap: with what brig bwrap reads of its own the keeper has to stay.
func TestKeepersOfBwrap(t *testing.T) {
	var names []string
	for _, v := range bwrap.Variables() {
		names = append(names, v.Name)
	}
	if list := constructorList(t, "variables"); !slices.Equal(list, names) {
		t.Errorf("the constructor knows %q; want %q", list, names)
	}
}

// constructorList returns a list of words in the C of early.go.
func constructorList(t *testing.T, name string) (words []string) {
	t.Helper()
	if asuser.Second() {
		t.Skip("the source was read in the first run")
	}
	text := must.Get(os.ReadFile("early.go"))(t)
	_, list, _ := strings.Cut(string(text), "const "+name+"[]")
	list, _, _ = strings.Cut(list, ";")
	for _, m := range regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(list, -1) {
		words = append(words, m[1])
	}
	return words
}
