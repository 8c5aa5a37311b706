package egress

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/rig"
	"brig/internal/test/asuser"
	"brig/internal/test/golden"
	"brig/internal/test/must"
)

// TestEgressReadme checks that the table of attacks is that of the headers.
func TestEgressReadme(t *testing.T) {
	want := egressReadme(loadAttacks(t))
	if golden.Update() {
		if asuser.Second() {
			return // its copy is older than the file of the first run
		}
		must.Do(t, os.WriteFile(filepath.Join("..", "..", "..", "testdata", "egress", "README.md"), []byte(want), 0o644))
		return
	}
	if got, err := os.ReadFile(testdata("egress", "README.md")); err != nil || string(got) != want {
		t.Errorf("README.md is not what the headers say (%v); run go test ./internal/test/egress -run TestEgressReadme -update", err)
	}
}

const egressIntro = `# Attacks on --net egress

Each file is a payload that tries to reach what its policy does not allow, or to spoil the record. Its first line is the
claim that it attacks. It prints CONTAINED and exits 0 if the jail has held, or prints ESCAPED and exits 1.
TestEgressBypass of package egress (internal/test) runs it in the pretended host of internal/rig. No server may have
a visitor that the header does not name, no other packet may have left, the name server may have got allowed names only,
and the log must have exactly the lines of the header, each a JSON object of printable ASCII, whose sums are the report's.
Then it runs again with --net host, where it must escape: this proves that it can.

The header is a comment of "# field: value" lines:

- allow, deny: a rule; --allow good.example where there is none
- policy: the text of the file for --net-policy, to which the rules are added
- log: FIELD=VALUE words of one line of the log, with the number of attempts in times= (1; * for any number); a value may
  be several with |, or ~TEXT for a part; several log fields are several lines; "none, REASON" if no attempt can reach
  the keeper
- lines: the log has no more lines than that
- wire: a protocol, address and port that may leave the host, besides the questions to the host's name server
- never: a text that no server may be sent in plain
- needs: ipv6
- kill: brig is killed when the payload has printed READY
- off: host, or "none, REASON" if the attack cannot succeed with --net host

This table is written by go test ./internal/test/egress -run TestEgressReadme -update.

| attack | claim | in the log |
|---|---|---|
`

func egressReadme(attacks []*rig.Attack) string {
	var b strings.Builder
	b.WriteString(egressIntro)
	for _, a := range attacks {
		var lines []string
		for _, w := range a.Logs {
			lines = append(lines, "`"+strings.ReplaceAll(w.Text, "|", `\|`)+"`")
		}
		if a.NoLog != "" {
			lines = append(lines, "none: "+a.NoLog)
		}
		name := strings.TrimSuffix(a.Name, ".py")
		fmt.Fprintf(&b, "| [%s](%s) | %s | %s |\n", name, a.Name, strings.ReplaceAll(a.Claim, "|", `\|`), strings.Join(lines, "; "))
	}
	return b.String()
}
