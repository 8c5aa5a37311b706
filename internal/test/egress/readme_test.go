package egress

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/asuser"
)

var update = flag.Bool("update", false, "write the README of testdata/egress")

// TestEgressReadme keeps the table of attacks true.
func TestEgressReadme(t *testing.T) {
	want := egressReadme(loadAttacks(t))
	if *update {
		if asuser.Second() {
			return // its copy is older than the first run's file
		}
		if err := os.WriteFile(filepath.Join("..", "..", "..", "testdata", "egress", "README.md"), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(testdata("egress", "README.md")); err != nil || string(got) != want {
		t.Errorf("README.md is not what the headers say (%v); run go test ./internal/test/egress -run TestEgressReadme -update", err)
	}
}

const egressIntro = `# Attacks on --net egress

Each file is a payload that tries to reach what its policy does not allow, or to spoil the record. Its first line is the
claim that it defends. It prints CONTAINED and exits 0 if the jail has held, or prints ESCAPED and exits 1. TestEgressBypass
of package egress (internal/test) runs it in the pretended host of internal/test/rig: nobody in the pretended internet may have been reached
but whom the header names, nothing else may have been on the wire, the name server may have heard allowed names only, and
the log must have exactly the lines of the header, each a JSON object of printable ASCII, whose sums are the report's.
Then it runs again with --net host: there it has to escape, so that it is known to be able to tell the difference.

The header is a comment of "# field: value" lines:

- allow, deny: a rule; --allow good.example where there is none
- policy: the text of the file for --net-policy, instead of rules
- flags: other flags of brig run
- log: FIELD=VALUE words that one line of the log has, and as many attempts as times= says (1; * for any number); a value
  may be several with |, or ~TEXT for a part; several log lines are several lines; "none, REASON" where no attempt can
  reach us
- lines: the log has no more lines than that
- wire: a protocol, address and port that may leave the host, besides the questions to the host's name server
- never: a text that no server may be sent in plain
- needs: ipv6
- kill: brig is killed when the payload has said READY
- off: host, or "none, REASON" where the attack cannot be seen to succeed with --net host

This table is written by go test ./internal/test/egress -run TestEgressReadme -update.

| attack | claim | in the log |
|---|---|---|
`

func egressReadme(attacks []*attack) string {
	var b strings.Builder
	b.WriteString(egressIntro)
	for _, a := range attacks {
		var lines []string
		for _, w := range a.logs {
			lines = append(lines, "`"+strings.ReplaceAll(w.text, "|", `\|`)+"`")
		}
		if a.noLog != "" {
			lines = append(lines, "none: "+a.noLog)
		}
		name := strings.TrimSuffix(a.name, ".py")
		fmt.Fprintf(&b, "| [%s](%s) | %s | %s |\n", name, a.name, strings.ReplaceAll(a.claim, "|", `\|`), strings.Join(lines, "; "))
	}
	return b.String()
}
