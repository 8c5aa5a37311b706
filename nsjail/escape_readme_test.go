package nsjail

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/golden"
)

// TestEscapeReadme keeps the table of attacks true.
func TestEscapeReadme(t *testing.T) {
	dir := filepath.Join(asuser.Testdata(), "escape")
	attacks := loadAttacks(t)
	kernel := 0
	for _, a := range attacks {
		if a.NoOff != "" {
			kernel++
		}
	}
	if kernel >= 10 {
		t.Errorf("%d attacks cannot be seen to succeed; fewer than 10 may", kernel)
	}
	want := escapeReadme(attacks)
	if golden.Update() {
		if asuser.Second() {
			return // its copy is older than the first run's file
		}
		if err := os.WriteFile(filepath.Join("..", "testdata", "escape", "README.md"), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(filepath.Join(dir, "README.md")); err != nil || string(got) != want {
		t.Errorf("README.md is not what the headers say (%v); run go test ./nsjail -run TestEscapeReadme -update", err)
	}
}

const escapeIntro = `# Attacks

Each file is a program that tries to get out of a jail, or to reach what it must not. Its first line is the claim that it
defends. It prints CONTAINED and exits 0 if the jail has held, or prints ESCAPED and exits 1. TestEscape of package
nsjail runs it as root and as an ordinary user, looks at the host afterwards, and runs it again with the mitigation
switched off: then it has to escape, so that it is known to be able to tell the difference. TestEscapeCLI runs all of
them by brig run as well, with a descriptor left open and a secret name in its arguments.

The header is a comment of "# field: value" lines:

- spec: JSON that changes the default jail
- args: arguments; $DIR is a directory of the caller's with the files secret and in/file and the directories in, work
  and victim (anybody may write there); $MARK is a name of its own, and set-ups add others
- setup: what is prepared on the host and looked at afterwards: a function of internal/attack
- plan: a change of the plan for both runs
- unless: JSON of a Spec: a jail with these settings ("*" is any value) does not make the claim; nor does one that is
  like the jail of spec= and bind= below
- harm: what else happens on the host if it gets through; brig verify then performs it only where everything else holds
- refusal: brig may also refuse to make such a jail
- landlock: the ABI of the kernel's Landlock without which there is no such claim
- root, user: only as this caller, and why
- off: how the mitigation is switched off: label=, call= delete operations of the plan, flag= a namespace, passed= an
  attribute of a mount, bind= shows a directory of the host, spec= changes the Spec, change= is a function; several
  lines act together, and Landlock, the second fence, is off as well; "none, REASON" where nothing can be switched off

This table is written by go test ./nsjail -run TestEscapeReadme -update.

| attack | claim | switched off by |
|---|---|---|
`

func escapeReadme(attacks []*trial) string {
	var b strings.Builder
	b.WriteString(escapeIntro)
	cell := strings.NewReplacer("|", "\\|", "`", "'")
	for _, a := range attacks {
		off := a.Mitigation()
		if a.NoOff == "" {
			off = "`" + cell.Replace(off) + "`"
		}
		claim := cell.Replace(a.Claim)
		if a.Lane != "" {
			claim += " (as " + a.Lane + " only: " + a.LaneReason + ")"
		}
		fmt.Fprintf(&b, "| [%s](%s) | %s | %s |\n", a.Title(), a.Name, claim, off)
	}
	return b.String()
}
