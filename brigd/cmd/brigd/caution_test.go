package main

import (
	"os"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// The operator is told of shares that the policies hide from everybody, and that runs may take all memory.
func TestOperatorIsWarned(t *testing.T) {
	d := dir(t)
	must.Do(t, os.Mkdir(d+"/data", 0o755))
	share := []string{"--share", "data=" + d + "/data:ro", "--share", "out=" + d + "/data:ro"}
	policy := func(text string) []string {
		return []string{"--policy", file(t, dir(t)+"/p.json", text), "--optional", "memory,cpus,memory_swap"}
	}
	const hides, unbounded = "allow these shares to nobody", "runs have no limit of memory"
	for name, c := range map[string]struct {
		args  []string
		warns []string
		not   []string
	}{
		"all hidden":   {append(share, policy(`{"name":"a","commands":["*"]}`)...), []string{hides, "shares=data,out", unbounded}, nil},
		"one hidden":   {append(share, policy(`{"name":"a","commands":["*"],"shares":["data"]}`)...), []string{hides, "shares=out"}, nil},
		"by another":   {append(share, append(policy(`{"name":"a","commands":["*"],"shares":["*"]}`), policy(`{"name":"b","commands":["*"]}`)...)...), []string{"shares=data,out"}, nil},
		"none hidden":  {append(share, policy(`{"name":"a","commands":["*"],"shares":["*"],"limits":{"memory":"64m"}}`)...), nil, []string{hides, unbounded}},
		"no policy":    {share, []string{unbounded}, []string{hides}},
		"by a setting": {[]string{"--memory", "64m", "--optional", "memory,memory_swap"}, nil, []string{unbounded}},
	} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, nil, append([]string{"serve", "--listen", "unix:" + dir(t) + "/s"}, c.args...)...)
			for _, s := range c.warns {
				if !strings.Contains(p.logged(), s) {
					t.Errorf("no word of %q:\n%s", s, p.logged())
				}
			}
			for _, s := range c.not {
				if strings.Contains(p.logged(), s) {
					t.Errorf("%q:\n%s", s, p.logged())
				}
			}
		})
	}
}
