package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"brig/internal/test/asuser"
	"brig/nsjail"
)

// TestGroupedFlags holds the constructor's lists against the flag table: every flag of a control group is in one.
func TestGroupedFlags(t *testing.T) {
	if asuser.Second() {
		t.Skip("the source was read in the first run")
	}
	text, err := os.ReadFile("early.go")
	if err != nil {
		t.Fatal(err)
	}
	var beginnings []string
	for _, name := range []string{"brig_launcher_grouped[]", "brig_launcher_alone[]"} {
		_, list, _ := strings.Cut(string(text), name)
		list, _, _ = strings.Cut(list, ";")
		for _, m := range regexp.MustCompile(`"(-[^"]+)"`).FindAllStringSubmatch(list, -1) {
			beginnings = append(beginnings, m[1])
		}
	}
	known := func(word string) bool {
		for _, b := range beginnings {
			if strings.HasPrefix(word, b) {
				return true
			}
		}
		return false
	}
	grouped := map[string]bool{"pids-limit": true, "no-init": true, "tier": true}
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
