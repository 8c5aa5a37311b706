package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// A policy that the machine cannot hold does not refuse every run without a word: brigd names it at its start, with the
// flag that does without; and with that flag it works.
func TestPolicyThatTheMachineCannotHold(t *testing.T) {
	d := dir(t)
	args := []string{"serve", "--policy", "python-data", "--listen", "unix:" + d + "/s"}
	p := begin(t, nil, args...)
	if p.addr == "" {
		said := p.logged()
		flag := regexp.MustCompile(`(--optional) ([a-z_,]+)`).FindStringSubmatch(said)
		if flag == nil || strings.Count(said, "\n") != 1 || !strings.Contains(said, "a policy or a default asks for") {
			t.Fatalf("it does not start, and says %q", said)
		}
		if _, err := os.Stat(d + "/s"); err == nil {
			t.Error("its socket is left behind")
		}
		p = begin(t, nil, append(args, flag[1:]...)...)
	}
	if status, a := p.do("POST", "/v1/run", map[string]any{"language": "python", "code": "print(6*7)"}); status != 200 || a["stdout"] != "42\n" {
		t.Errorf("%d %v\n%s", status, a, p.logged())
	}
}
