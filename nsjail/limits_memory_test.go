package nsjail

import (
	"strings"
	"testing"

	"brig/nsjail/spec"
)

// gigabyte is a program that writes to 1 GiB of memory.
const gigabyte = `python3 -c 'x = b"x" * (1 << 30)'`

// TestLimitMemory: the jail that wants more than its limit ends as memory, whichever process of it wants it and
// whatever kind of memory it is. Its neighbour and the caller live on.
func TestLimitMemory(t *testing.T) {
	needs(t, "python3")
	for name, script := range map[string]string{
		"the payload itself":     "exec " + gigabyte,
		"a child":                gigabyte + "; sleep 1000",
		"a child of many":        "sleep 1000 & sleep 1000 & (" + gigabyte + ") & wait",
		"a file in /tmp":         "head -c 200M /dev/zero >/tmp/f; sleep 1000",
		"a file in /work":        "head -c 200M /dev/zero >/work/f; sleep 1000",
		"a file in /dev/shm":     "head -c 200M /dev/zero >/dev/shm/f; sleep 1000",
		"an end that looks well": "trap 'exit 0' TERM CHLD; " + gigabyte + "; sleep 1000",
	} {
		t.Run(name, func(t *testing.T) {
			c := tight(t, script)
			c.Spec.Limits.Wall = spec.Duration(60e9)
			unhurt := neighbour(t)
			_, r := mustRun(t, c)
			wantStatus(t, r, StatusMemory, "memory")
			if peak := r.Usage.MemoryPeak; peak > 64<<20 || peak >= 0 && peak < 48<<20 || r.Usage.OOMKills < 1 {
				t.Errorf("peak %d, %d kills", peak, r.Usage.OOMKills)
			}
			unhurt()
		})
	}
}

// TestLimitMemoryOneProcess: --no-oom-group leaves the rest of the jail alone, and the report names the limit all the
// same.
func TestLimitMemoryOneProcess(t *testing.T) {
	needs(t, "python3")
	for end, want := range map[string]Status{"exit 0": StatusOK, "exit 5": StatusMemory} {
		c := tight(t, gigabyte+" 2>/dev/null; echo code $?; "+end)
		c.Spec.Limits.NoOOMGroup = true
		out, r := mustRun(t, c)
		wantStatus(t, r, want, "memory")
		if !strings.HasSuffix(out, "code 137\n") {
			t.Errorf("%q", out)
		}
	}
}

// TestLimitMemoryPageCache: the cache of files is counted, too. It can be given back, so that it ends no jail.
func TestLimitMemoryPageCache(t *testing.T) {
	dir := shared(t, 1234)
	c := tight(t, "head -c 40M /dev/zero >/work/f")
	c.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/work", Writable: true}}
	_, r := mustRun(t, c)
	wantStatus(t, r, StatusOK)
	if peak := r.Usage.MemoryPeak; peak >= 0 && peak < 40<<20 || r.Usage.MaxRSS > 20<<20 {
		t.Errorf("peak %d for a file of 40 MiB, resident %d", peak, r.Usage.MaxRSS)
	}
}

// TestLimitMemoryTooLittle: a limit that leaves no room for the jail itself is the caller's fault, and nothing has run.
func TestLimitMemoryTooLittle(t *testing.T) {
	c := tight(t, "echo ran")
	c.Spec.Limits.Memory = spec.MinMemory
	if e := startError(t, c); e.Op != "limits.memory" || e.Fault != spec.FaultCaller {
		t.Errorf("%+v", e)
	}
}
