package nsjail

import (
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"brig/cgroup"
	"brig/internal/test/asuser"
	"brig/internal/test/golden"
	"brig/internal/test/must"
	"brig/netns/egress"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

func exited(code int) int           { return code << 8 }
func killed(sig syscall.Signal) int { return int(sig) }
func dumped(sig syscall.Signal) int { return int(sig) | 0x80 }
func noted(change ...func(*ended)) *ended {
	o := &ended{group: cgroup.Unknown(), disks: disksAtEnd{bytes: -1}}
	for _, f := range change {
		f(o)
	}
	return o
}

func because(why cause) func(*ended) {
	return func(o *ended) {
		o.deeds.why = why
		o.over = why == endedOutput
	}
}

func TestStatusIsDecidedFromFacts(t *testing.T) {
	cpu := noted(func(o *ended) { o.bounds.cpu = 2 * time.Second })
	tree := func(used time.Duration) *ended {
		return noted(func(o *ended) { o.bounds.cpu, o.group.CPU = 2*time.Second, used })
	}
	each := noted(func(o *ended) { o.bounds.rlimitCPU = [2]time.Duration{time.Second, 2 * time.Second} })
	oom := func(o *ended) { o.group.OOMKills = 1 }
	refused := func(o *ended) { o.group.ProcessesRefused = 3 }
	full := func(o *ended) { o.disks.full = []string{"/tmp"} }
	lost := func(o *ended) { o.lost = true }
	for name, test := range map[string]struct {
		status int
		user   time.Duration
		o      *ended
		want   Result
	}{
		"exit 0":                      {exited(0), 0, noted(), Result{Status: StatusOK}},
		"exit 3":                      {exited(3), 0, noted(), Result{Status: StatusFailed, ExitCode: 3}},
		"exit 255":                    {exited(255), 0, noted(), Result{Status: StatusFailed, ExitCode: 255}},
		"a forged timeout":            {exited(124), 0, noted(), Result{Status: StatusFailed, ExitCode: 124}},
		"a forged signal":             {exited(137), 0, noted(), Result{Status: StatusFailed, ExitCode: 137}},
		"SIGKILL":                     {killed(syscall.SIGKILL), 0, noted(), Result{Status: StatusSignal, ExitCode: -1, Signal: "SIGKILL"}},
		"SIGSEGV with a core":         {dumped(syscall.SIGSEGV), 0, noted(), Result{Status: StatusSignal, ExitCode: -1, Signal: "SIGSEGV"}},
		"SIGSYS":                      {dumped(syscall.SIGSYS), 0, noted(), Result{Status: StatusViolation, ExitCode: -1, Signal: "SIGSYS"}},
		"the wall clock":              {killed(syscall.SIGKILL), 0, noted(because(endedWall)), Result{Status: StatusTimeout, ExitCode: -1, Signal: "SIGKILL", TimedOut: true}},
		"an exit as the clock struck": {exited(0), 0, noted(because(endedWall)), Result{Status: StatusTimeout, ExitCode: -1, TimedOut: true}},
		"the context":                 {killed(syscall.SIGKILL), 0, noted(because(endedCancel)), Result{Status: StatusCancelled, ExitCode: -1, Signal: "SIGKILL"}},
		"init was killed":             {exited(1), 0, noted(func(o *ended) { o.lost = true }), Result{Status: StatusSignal, ExitCode: -1, Signal: "SIGKILL"}},
		"SIGXCPU at the limit":        {killed(syscall.SIGXCPU), 2 * time.Second, cpu, Result{Status: StatusCPU, ExitCode: -1, Signal: "SIGXCPU"}},
		"SIGKILL after the limit":     {killed(syscall.SIGKILL), 3 * time.Second, cpu, Result{Status: StatusCPU, ExitCode: -1, Signal: "SIGKILL"}},
		"a forged SIGXCPU":            {killed(syscall.SIGXCPU), 1999 * time.Millisecond, cpu, Result{Status: StatusSignal, ExitCode: -1, Signal: "SIGXCPU"}},
		"SIGXCPU of RLIMIT_CPU":       {killed(syscall.SIGXCPU), time.Second, each, Result{Status: StatusCPU, ExitCode: -1, Signal: "SIGXCPU"}},
		"SIGKILL of RLIMIT_CPU":       {killed(syscall.SIGKILL), 2 * time.Second, each, Result{Status: StatusCPU, ExitCode: -1, Signal: "SIGKILL"}},
		"a SIGKILL before it":         {killed(syscall.SIGKILL), 1999 * time.Millisecond, each, Result{Status: StatusSignal, ExitCode: -1, Signal: "SIGKILL"}},
		"SIGXCPU without a limit":     {killed(syscall.SIGXCPU), time.Hour, noted(), Result{Status: StatusSignal, ExitCode: -1, Signal: "SIGXCPU"}},
		"out of memory, all killed":   {killed(syscall.SIGKILL), 0, noted(lost, oom), Result{Status: StatusMemory, ExitCode: -1, Signal: "SIGKILL"}},
		"out of memory, the payload":  {killed(syscall.SIGKILL), 0, noted(oom), Result{Status: StatusMemory, ExitCode: -1, Signal: "SIGKILL"}},
		"out of memory, its child":    {exited(137), 0, noted(oom), Result{Status: StatusMemory, ExitCode: 137}},
		"out of memory, survived":     {exited(0), 0, noted(oom), Result{Status: StatusOK}},
		"fork refused, and failed":    {exited(1), 0, noted(refused), Result{Status: StatusProcesses, ExitCode: 1}},
		"fork refused, and well":      {exited(0), 0, noted(refused), Result{Status: StatusOK}},
		"disk full, and failed":       {exited(1), 0, noted(full), Result{Status: StatusDisk, ExitCode: 1}},
		"disk full, and well":         {exited(0), 0, noted(full), Result{Status: StatusOK}},
		"too much output":             {killed(syscall.SIGKILL), 0, noted(because(endedOutput)), Result{Status: StatusOutput, ExitCode: -1, Signal: "SIGKILL"}},
		"no output for too long":      {killed(syscall.SIGKILL), 0, noted(because(endedIdle)), Result{Status: StatusTimeout, ExitCode: -1, Signal: "SIGKILL", TimedOut: true}},
		"time together":               {killed(syscall.SIGKILL), 0, noted(because(endedCPU)), Result{Status: StatusCPU, ExitCode: -1, Signal: "SIGKILL"}},
		"over the time, and well":     {exited(0), 0, tree(3 * time.Second), Result{Status: StatusCPU, ExitCode: 0}},
		"within the time of all":      {killed(syscall.SIGKILL), time.Hour, tree(time.Second), Result{Status: StatusSignal, ExitCode: -1, Signal: "SIGKILL"}},
		"exit within the limit":       {exited(0), 3 * time.Second, cpu, Result{Status: StatusOK}},
	} {
		test.o.status, test.o.usage.Sampled = syscall.WaitStatus(test.status), test.user
		got, err := resultOf(test.o)
		must.Do(t, err)
		if got.Status != test.want.Status || got.ExitCode != test.want.ExitCode || got.Signal != test.want.Signal || got.TimedOut != test.want.TimedOut {
			t.Errorf("%s: %s code %d signal %q timed out %v", name, got.Status, got.ExitCode, got.Signal, got.TimedOut)
		}
	}
}

// TestCountedLimits: a Result can name the limits that the table calls counted, and the disks.
func TestCountedLimits(t *testing.T) {
	named := map[string]bool{}
	for _, why := range []cause{endedWall, endedIdle, endedCPU} {
		o := noted(because(why), func(o *ended) {
			o.over = true
			o.disks.full = []string{"/tmp"}
			o.group.OOMKills, o.group.OOMOwn, o.group.MemoryAboveHigh = 1, 1, 1
			o.group.ThrottledPeriods, o.group.ProcessesRefused = 1, 1
		})
		for _, name := range o.limitsHit(true) {
			named[name] = true
		}
	}
	want := map[string]bool{"disk": true}
	for r := range spec.LimitTable() {
		if r.Counted {
			want[r.Name] = true
		}
	}
	if !maps.Equal(named, want) {
		t.Errorf("a Result can name %v, and the table %v", named, want)
	}
}

// invented are facts of ends that no jail has had, by name. testdata/results.golden has the Result of each.
var invented = map[string]func(*ended){
	"exit 0": func(e *ended) {},
	"known at the start": func(e *ended) {
		e.known = known{enforced: map[string]spec.Text{"memory": "cgroup v2"}, notes: []spec.Text{"of the plan"}, image: "alpine@sha256:0", digest: "d", taken: true}
		e.wall, e.phases, e.last = 3*time.Millisecond, Phases{Look: 1, Run: 2}, []byte("$ ")
		e.usage = launcher.Usage{User: time.Millisecond, System: 2 * time.Millisecond, MaxRSS: 1 << 20}
	},
	"a group's figures": func(e *ended) {
		e.group = cgroup.Stats{CPU: 5 * time.Millisecond, User: 3 * time.Millisecond, System: 2 * time.Millisecond, MemoryPeak: 4096, ThrottledPeriods: 2}
		e.usage.User = time.Hour
	},
	"a group's figures from before the run do not count": func(e *ended) {
		e.group.ThrottledPeriods, e.before.ThrottledPeriods, e.group.ProcessesRefused, e.before.ProcessesRefused = 2, 2, 3, 3
		e.status = syscall.WaitStatus(exited(1))
	},
	"the wall clock, with a warning": func(e *ended) {
		e.deeds.why, e.deeds.warned, e.status = endedWall, true, syscall.WaitStatus(exited(7))
	},
	"the wall clock before an output above its limit": func(e *ended) { e.deeds.why, e.over = endedWall, true },
	"an output above its limit before a full disk": func(e *ended) {
		e.over, e.disks.over, e.disks.full, e.output = true, true, []string{"/work"}, Output{StdoutBytes: 9, StdoutDropped: 4}
	},
	"changes on disk before processor time": func(e *ended) {
		e.disks.over, e.bounds.cpu, e.group.CPU, e.disks.full = true, time.Second, time.Second, []string{"/work"}
	},
	"processor time before memory": func(e *ended) {
		e.bounds.cpu, e.group.CPU, e.group.OOMKills, e.group.OOMOwn, e.lost = time.Second, time.Second, 1, 1, true
	},
	"memory of the machine, not of the jail": func(e *ended) {
		e.group.OOMKills, e.group.OOMOwn, e.status = 1, 0, syscall.WaitStatus(killed(syscall.SIGKILL))
	},
	"one process out of memory, which ends the jail": func(e *ended) { e.group.OOMKills, e.group.OOMOwn, e.bounds.oomGroup = 1, 1, true },
	"netlink messages": func(e *ended) {
		e.deeds.why, e.deeds.uncounted, e.known.notes = endedNetlink, errors.New("open /proc/PID: permission denied"), []spec.Text{"of the plan"}
	},
	"a call that the filter answers by killing": func(e *ended) {
		e.status, e.calls = syscall.WaitStatus(killed(syscall.SIGSYS)), callsAtEnd{launcher.Violation{Nr: unix.SYS_PTRACE, Arch: unix.AUDIT_ARCH_X86_64, Count: 2, Own: true}, nil, true}
	},
	"a forged SIGSYS where init listens": func(e *ended) { e.status, e.calls.listened = syscall.WaitStatus(killed(syscall.SIGSYS)), true },
	"a disk that was full for a time": func(e *ended) {
		e.status, e.disks.met, e.disks.bytes = syscall.WaitStatus(exited(1)), true, 4096
		e.disks.systems = []FileSystem{{Targets: []string{"/tmp", "/work"}, Size: 8192, Used: 4096, Peak: 8192}}
	},
	"a real-time signal":        func(e *ended) { e.status = syscall.WaitStatus(killed(40)) },
	"Ctrl-C without init":       func(e *ended) { e.status, e.deeds.keyed = syscall.WaitStatus(killed(syscall.SIGKILL)), unix.SIGINT },
	"a name looked up":          func(e *ended) { e.status, e.lookup = syscall.WaitStatus(exited(6)), "example.org" },
	"a network by name":         func(e *ended) { e.network = &egress.Summary{} },
	"others that ended, too":    func(e *ended) { e.others = &Ended{1, []Process{{5, "sleep"}}} },
	"a replaced protected path": func(e *ended) { e.replaced, e.known.notes = []string{"/work/.git"}, []spec.Text{"of the plan"} },
	"processes that do not end": func(e *ended) {
		e.status, e.deeds.gaveUp, e.unread = syscall.WaitStatus(exited(0)), spec.HostError(opEnd, "process 7 did not end", "look"), true
	},
	"a handover that was not read": func(e *ended) { e.unread, e.status = true, syscall.WaitStatus(killed(syscall.SIGSEGV)) },
	"a handover that was not read after Stop": func(e *ended) {
		e.unread, e.deeds.asked, e.status = true, true, syscall.WaitStatus(killed(syscall.SIGTERM))
	},
}

// TestResultOfFacts: the same facts have the same Result, in the golden file's words.
func TestResultOfFacts(t *testing.T) {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(invented)) {
		e := noted(invented[name])
		r, err := resultOf(e)
		j := must.Get(json.Marshal(r))(t)
		text.WriteString("# " + name + "\n" + string(j) + "\n")
		if err != nil {
			text.WriteString("error: " + err.Error() + "\n")
		}
		if again, _ := resultOf(e); !slices.Equal(must.Get(json.Marshal(again))(t), j) {
			t.Errorf("%s: another Result the second time", name)
		}
	}
	golden.File(t, filepath.Join(asuser.Testdata(), "results.golden"), text.String())
}

// TestTimely: what the keeper did after the end has not ended the jail.
func TestTimely(t *testing.T) {
	exit, kill := syscall.WaitStatus(exited(0)), syscall.WaitStatus(killed(syscall.SIGKILL))
	for name, tt := range map[string]struct {
		e    ended
		want cause
	}{
		"init was told to":              {ended{way: wayOfEnd{reported: true, told: true}}, endedWall},
		"init ended by itself":          {ended{way: wayOfEnd{reported: true}}, notEnded},
		"by itself, after the warning":  {ended{way: wayOfEnd{reported: true}, deeds: deeds{warned: true}}, endedWall},
		"init was killed":               {ended{way: wayOfEnd{waited: true}, lost: true, status: kill}, endedWall},
		"without init, an exit":         {ended{way: wayOfEnd{alone: true, waited: true}, status: exit}, notEnded},
		"without init, a signal":        {ended{way: wayOfEnd{alone: true, waited: true}, status: kill}, endedWall},
		"without init, it did not end":  {ended{way: wayOfEnd{alone: true}}, endedWall},
		"without init, it was warned":   {ended{way: wayOfEnd{alone: true, waited: true}, status: exit, deeds: deeds{warned: true}}, endedWall},
		"init did not end its children": {ended{way: wayOfEnd{reported: true, told: true, left: true}}, endedWall},
	} {
		if got := tt.e.timely(endedWall); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}
