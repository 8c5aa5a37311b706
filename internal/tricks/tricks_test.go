package tricks

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// The C side has the same numbers, and a binary that was not asked for anything else uses all.
func TestTricks(t *testing.T) {
	text := must.Get(os.ReadFile("../../nsjail/internal/launcher/launcher.h"))(t)
	list := regexp.MustCompile(`(?s)enum trick \{(.*?)\}`).FindStringSubmatch(string(text))
	if list == nil {
		t.Fatal("launcher.h has no enum trick")
	}
	c := regexp.MustCompile(`TRICK_\w+`).FindAllString(list[1], -1)
	for i, name := range c {
		if want := "TRICK_" + strings.ReplaceAll(strings.ToUpper(Trick(i).String()), " ", "_"); name != want {
			t.Errorf("trick %d is %s in C; want %s", i, name, want)
		}
	}
	if len(c) != int(LateTimers)+1 {
		t.Errorf("C knows %d tricks", len(c))
	}
	for _, trick := range All() {
		if !trick.On() {
			t.Errorf("%s is off", trick)
		}
	}
}

// The page of decision 13 has the gain of each, which is what keeps it: 2 % at least.
func TestGains(t *testing.T) {
	text := must.Get(os.ReadFile("../../docs/decisions/013-start-up-tricks.md"))(t)
	for _, trick := range All() {
		row := regexp.MustCompile(`(?m)^\| ` + trick.String() + ` \|.*\| ([\d.]+) % \|$`).FindSubmatch(text)
		if row == nil {
			t.Errorf("decision 13 has no row for %q", trick)
			continue
		}
		if gain, err := strconv.ParseFloat(string(row[1]), 64); err != nil || gain < 2 {
			t.Errorf("%s gains %s %%: it has to go", trick, row[1])
		}
	}
}
