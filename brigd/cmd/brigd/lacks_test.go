package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// If the machine cannot enforce a policy, brigd does not start, and its message names the flag that makes the mechanism
// optional. With that flag it starts.
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
