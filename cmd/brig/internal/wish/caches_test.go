package wish

import (
	"strings"
	"testing"

	"brig/internal/words"
)

// TestPowersOfCaches: which command lines have caches apart from those of ordinary runs. What is protected by default
// is known then.
func TestPowersOfCaches(t *testing.T) {
	for line, want := range map[string]string{ // the powers
		"id":                                     "",
		"--work a id":                            "",
		"--cow a id":                             "",
		"--output a --bind b /b id":              "",
		"--protect x --user 0 --cow a id":        "",
		"--no-protect id":                        "", // nothing is writable
		"--ro-bind a /a id":                      "",
		"--no-protect --work a id":               "protected paths",
		"--no-protect=.idea --work a id":         "protected paths",
		"--no-protect --cow a id":                "protected paths",
		"--work a --git rw id":                   "git directories",
		"--net host id":                          "the network of the host",
		"--optional sockets id":                  "sockets of the host",
		"--seccomp unconfined id":                "seccomp unconfined",
		"--env A_TOKEN=x id":                     "credentials in variables",
		"-e A_TOKEN id":                          "credentials in variables",
		"-e A_TOKEN --cache-key k id":            "",
		"--no-protect --work a --cache-key k id": "",
	} {
		w, _, err := Parse("run", nil, strings.Fields("--cache npm "+line), noFiles)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		enforced := map[string]words.Text{}
		w.Caches.Tell(enforced)
		_, got, _ := strings.Cut(enforced["cache"].String(), "trusted with (")
		if got, _, _ = strings.Cut(got, ")"); got != want {
			t.Errorf("%s: %q, not %q", line, got, want)
		}
	}
}
