package nsjail

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"brig/internal/program"
	"brig/internal/test/golden"
	"brig/internal/test/must"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

const aheadFile = "internal/launcher/ahead_amd64.h"

// lastAhead is in the last call before a jail may leave the host's tree, and in no other.
const lastAhead = `"etc/mtab"`

// earlyPlan is what this machine does for a Spec with a launcher that was forked early, which takes the same ids each
// time.
func earlyPlan(t *testing.T, s spec.Spec) *plan.Plan {
	t.Helper()
	s.Args = []string{"true"}
	h, err := host.Look(&s)
	must.Do(t, err)
	defer h.Close()
	h.PayloadUID, h.PayloadGID = 1, 1
	p, err := plan.Mode{Forked: true}.Resolve(&s, h)
	if err != nil {
		t.Fatalf("%+v: %v", s, err)
	}
	return p
}

// aheadProgram is the beginning of the list of a jail to which the keeper passes all mounts, up to where it has left
// the host's tree: what an early launcher performs at most before its program comes.
func aheadProgram(t *testing.T) []byte {
	t.Helper()
	h := &host.Host{
		Machine: host.Machine{Kernel: host.Kernel{Major: 6, Minor: 1}, Missing: map[string]spec.Text{}, LastCap: 40},
		Caller: host.Caller{UID: 1000, GID: 1000, PayloadUID: launcher.AheadUID, PayloadGID: launcher.AheadGID,
			HardLimits: map[string]int64{"nofile": 4096}},
		Root: host.Root{System: []host.SystemDir{{Name: "usr"}}}}
	for _, name := range host.EveryKernel {
		h.ProcFiles = append(h.ProcFiles, host.ProcFile{Name: name, Dir: slices.Contains([]string{"irq", "bus", "fs", "sys"}, name)})
	}
	p, err := plan.Mode{Forked: true}.Resolve(&spec.Spec{Args: []string{"true"}, Seccomp: "unconfined"}, h)
	must.Do(t, err)
	last := opAt(p.Jail.Ops, lastAhead)
	if last < 0 || !strings.HasPrefix(p.Jail.Ops[last].Call(), "symlinkat(") {
		t.Fatalf("the list has another order: operation %d", last)
	}
	if last+1 != launcher.AheadTree {
		t.Errorf("%d operations come before the host's tree is left, not AHEAD_TREE = %d", last+1, launcher.AheadTree)
	}
	p.Jail.Ops = p.Jail.Ops[:slices.IndexFunc(p.Jail.Ops, func(o program.Op) bool { return o.NR == unix.SYS_UNLINKAT })+1]
	blob, err := p.Jail.Encode(program.Request{Cgroup: -1})
	must.Do(t, err)
	return blob
}

// TestAheadIsTheBeginning keeps the list that a launcher forked early holds the same as the one that Resolve writes.
func TestAheadIsTheBeginning(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("other architectures have no such list")
	}
	blob := aheadProgram(t)
	var b bytes.Buffer
	fmt.Fprintf(&b, "// Made by go test ./nsjail -run TestAheadIsTheBeginning -update: %d bytes.\n", len(blob))
	for i, c := range blob {
		fmt.Fprintf(&b, "%d,", c)
		if i%40 == 39 {
			b.WriteByte('\n')
		}
	}
	b.WriteByte('\n')
	if golden.Update() {
		must.Do(t, os.WriteFile(aheadFile, b.Bytes(), 0o644))
		return
	}
	for first, data := range map[int]uint64{launcher.AheadCommon: launcher.AheadCommonData, launcher.AheadTree + 1: launcher.AheadTreeData} {
		next := blob[program.HeaderSize+first*program.OpSize:]
		if at := binary.NativeEndian.Uint64(next[24:]); at != data { // its second argument
			t.Errorf("operation %d has data at %d, want %d", first, at, data)
		}
	}
	if !bytes.Equal(launcher.Ahead(), blob) {
		t.Errorf("%s is not the beginning of the list; rewrite it with -update", aheadFile)
	}
}

// TestAheadIsOfUse: what a caller often asks for leaves the beginning of the list as it is.
func TestAheadIsOfUse(t *testing.T) {
	dir := t.TempDir()
	want := earlyPlan(t, spec.Spec{}).Jail.Ops
	end := opAt(want, lastAhead) + 1
	if end == 0 {
		t.Fatal("the list has another order")
	}
	for name, s := range map[string]spec.Spec{"image": {Rootfs: spec.Rootfs{Path: dir}}, "user": {User: "0:0"}} {
		got := earlyPlan(t, s).Jail.Ops
		for i, o := range want[:launcher.AheadCommon+1] {
			if got[i].Call() != o.Call() || (o.Label == "user") != (i == launcher.AheadCommon) {
				t.Errorf("%s: operation %d: %s", name, i, got[i].Call())
			}
		}
	}
	for name, s := range map[string]spec.Spec{
		"work":    {Mounts: []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/work", Writable: true}}},
		"input":   {Mounts: []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/input"}, {Type: spec.MountBind, Source: dir, Target: "/output", Writable: true}}},
		"tmpfs":   {Mounts: []spec.Mount{{Type: spec.MountTmpfs, Target: "/home"}}},
		"a file":  {Mounts: []spec.Mount{{Type: spec.MountData, Content: "x", Target: "/etc/x"}}},
		"env":     {Env: []string{"A=b"}, Workdir: "/tmp"},
		"limits":  {Limits: spec.Limits{Wall: spec.Duration(time.Second), Output: 10}},
		"egress":  {Net: spec.NetEgress, Egress: policyOf(t, "example.com")},
		"seccomp": {Seccomp: "unconfined"},
	} {
		got := earlyPlan(t, s).Jail.Ops
		if len(got) < end || !slices.EqualFunc(got[:end], want[:end], func(a, b program.Op) bool { return a.Call() == b.Call() }) {
			t.Errorf("%s: the list begins otherwise", name)
		}
	}
}
