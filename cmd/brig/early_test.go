package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"brig/internal/test/asuser"
	"brig/nsjail"
)

// TestGroupedFlags holds the constructor's list against the flag table: every flag of a control group is in it.
func TestGroupedFlags(t *testing.T) {
	if asuser.Second() {
		t.Skip("the source was read in the first run")
	}
	text, err := os.ReadFile("early.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "brig_launcher_grouped[]")
	list, _, _ = strings.Cut(list, ";")
	var beginnings []string
	for _, m := range regexp.MustCompile(`"(-[^"]+)"`).FindAllStringSubmatch(list, -1) {
		beginnings = append(beginnings, m[1])
	}
	known := func(word string) bool {
		for _, b := range beginnings {
			if strings.HasPrefix(word, b) {
				return true
			}
		}
		return false
	}
	grouped := map[string]bool{"pids-limit": true, "no-init": true}
	for _, r := range nsjail.LimitTable() {
		if r.Group != nil {
			grouped[r.Flag] = true
		}
	}
	for _, f := range newBuilder("run", nil).flags() {
		if want := grouped[f.Name] || f.Group == "Control group"; known("--"+f.Name) != want {
			t.Errorf("--%s: in the list %v, want %v", f.Name, !want, want)
		}
	}
	if !known("-m") {
		t.Error("-m is not in the list")
	}
}
