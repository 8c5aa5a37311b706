package nsjail

import (
	"strings"
	"testing"

	"brig/nsjail/spec"
)

// TestEnded: processes that run when the payload ends by itself are named, with bytes that no terminal obeys; others are
// not.
func TestEnded(t *testing.T) {
	const named = `
import os, signal
r, w = os.pipe()
for name in b'one\x1b[1m\xff', b') Z 1':
    if os.fork() == 0:
        open('/proc/self/comm', 'wb').write(name)
        os.write(w, b'.')
        signal.pause()
for _ in range(2): os.read(r, 1)
`
	for name, c := range map[string]struct {
		cmd  *Cmd
		want string
	}{
		"none":       {shell("true; true & wait"), ""},
		"one":        {shell("sleep 99 & exec true"), "1 process was still running when the command ended, and ended with it: 3 "},
		"failed":     {shell("sleep 99 & exit 3"), "1 process was"},
		"its names":  {python(t, named), `2 processes were still running when the command ended, and ended with it: 3 one\x1b[1m\xff, 4 ) Z 1`},
		"a zombie":   {shell("true & exec sleep 0.05"), ""},
		"many":       {shell("i=0; while [ $((i += 1)) -le 300 ]; do sleep 99 & done"), "at least 256 processes were"},
		"by a limit": {shell("sleep 99 & sleep 98"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "by a limit" {
				c.cmd.Spec.Limits.Wall = spec.Duration(1e8)
			}
			_, r := mustRun(t, c.cmd)
			switch {
			case c.want == "" && r.Ended != nil:
				t.Errorf("%+v", r.Ended)
			case c.want != "" && (r.Ended == nil || !strings.HasPrefix(r.Ended.String(), c.want)):
				t.Errorf("%v; want %s", r.Ended, c.want)
			}
		})
	}
}
