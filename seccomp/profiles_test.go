package seccomp

import (
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

const (
	eperm  = Errno | Action(unix.EPERM)
	enosys = Errno | Action(unix.ENOSYS)
	eacces = Errno | Action(unix.EACCES)
)

func native() Target { return Target{Arch: runtime.GOARCH, KernelMajor: 6, KernelMinor: 1} }

func needNative(t *testing.T) {
	t.Helper()
	if _, ok := findArch(runtime.GOARCH); !ok {
		t.Skip("no compiler for", runtime.GOARCH)
	}
}

func load(t *testing.T, name string) *Profile {
	t.Helper()
	data := must.Get(os.ReadFile("../testdata/seccomp/" + name + ".json"))(t)
	return must.Get(Parse(data))(t)
}

func compiled(t *testing.T, p *Profile, target Target) (*Table, []byte) {
	t.Helper()
	needNative(t)
	table := must.Get(p.Resolve(target))(t)
	bpf := must.Get(table.Compile())(t)
	return table, bpf
}

// call is the expected answer to one system call of the native architecture.
type call struct {
	name string
	args [6]uint64
	want Action
}

func check(t *testing.T, bpf []byte, calls []call) {
	t.Helper()
	a, _ := findArch(runtime.GOARCH)
	for _, c := range calls {
		nr, k := a.syscallNumber(c.name)
		if k != isNative {
			continue // open(2) on arm64
		}
		if got := Simulate(bpf, Data{Nr: int32(nr), Args: c.args}); got != c.want {
			t.Errorf("%s %#x: %s, want %s", c.name, c.args, got, c.want)
		}
	}
}

func TestProfiles(t *testing.T) {
	garbage := uint64(0xdead_beef_0000_0000)
	tests := []struct {
		file  string
		calls []call
	}{
		{"tiny", []call{{"read", [6]uint64{}, Allow}, {"exit_group", [6]uint64{}, Allow}, {"openat", [6]uint64{}, KillProcess},
			{"statmount", [6]uint64{}, KillProcess}}},
		{"agent", []call{{"read", [6]uint64{}, Allow}, {"socket", [6]uint64{40}, Allow}, {"clone", [6]uint64{}, eperm},
			{"execve", [6]uint64{}, eacces}, {"bpf", [6]uint64{}, eperm}, {"statmount", [6]uint64{}, enosys}}},
		{"openat-readonly", []call{{"openat", [6]uint64{2: 0}, Allow}, {"openat", [6]uint64{2: unix.O_CLOEXEC}, Allow},
			{"openat", [6]uint64{2: 1}, eacces}, {"openat", [6]uint64{2: 2 | unix.O_CREAT}, eacces},
			{"openat", [6]uint64{2: garbage | 1}, eacces}, {"write", [6]uint64{}, Allow}, {"mkdir", [6]uint64{}, eacces}}},
		{"openat-denied-first", []call{{"openat", [6]uint64{2: 0}, Allow}, {"openat", [6]uint64{2: 1}, eperm},
			{"openat", [6]uint64{2: 2}, Errno | Action(unix.EROFS)}, {"openat", [6]uint64{2: 3}, eperm},
			{"openat", [6]uint64{2: garbage | 2}, Errno | Action(unix.EROFS)}, {"openat", [6]uint64{2: garbage}, Allow}}},
		{"oldname", []call{{"read", [6]uint64{}, Allow}, {"openat", [6]uint64{2: 1}, eperm}, {"openat", [6]uint64{2: 2}, Allow},
			{"socket", [6]uint64{0}, eperm}, {"socket", [6]uint64{1}, Allow}, {"socket", [6]uint64{2}, Allow}, {"socket", [6]uint64{3}, eperm}}},
		{"denylist", []call{{"read", [6]uint64{}, Allow}, {"ptrace", [6]uint64{}, KillThread}, {"mount", [6]uint64{}, KillProcess},
			{"keyctl", [6]uint64{}, Trap}, {"chroot", [6]uint64{}, Log}, {"unshare", [6]uint64{}, TraceAction(7)},
			{"bpf", [6]uint64{}, enosys}, {"socket", [6]uint64{11}, Errno | Action(unix.EAFNOSUPPORT)}, {"socket", [6]uint64{10}, Allow}}},
		{"podman", []call{{"read", [6]uint64{}, Allow}, {"mount", [6]uint64{}, eperm}, {"bpf", [6]uint64{}, enosys}}},
		{"docker-default", []call{{"read", [6]uint64{}, Allow}, {"clone", [6]uint64{}, Allow}, {"clone", [6]uint64{unix.CLONE_NEWUSER}, eperm},
			{"clone3", [6]uint64{}, enosys}, {"socket", [6]uint64{1}, Allow}, {"socket", [6]uint64{38}, eperm}, {"socket", [6]uint64{39}, Allow},
			{"socket", [6]uint64{40}, eperm}, {"socket", [6]uint64{41}, Allow}, {"personality", [6]uint64{8}, Allow},
			{"personality", [6]uint64{7}, eperm}, {"mount", [6]uint64{}, eperm}, {"ptrace", [6]uint64{}, Allow}, {"bpf", [6]uint64{}, eperm},
			{"mseal", [6]uint64{}, Allow}, {"open_tree_attr", [6]uint64{}, enosys},
			// The hole that the note warns of: the kernel would see domain 40 here.
			{"socket", [6]uint64{garbage | 40}, Allow}}},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			_, bpf := compiled(t, load(t, tt.file), native())
			check(t, bpf, tt.calls)
		})
	}
}

func TestDockerByTarget(t *testing.T) {
	tests := []struct {
		name   string
		target Target
		calls  []call
	}{
		{"old kernel", Target{Arch: runtime.GOARCH, KernelMajor: 4, KernelMinor: 7}, []call{{"ptrace", [6]uint64{}, eperm}}},
		{"new kernel", Target{Arch: runtime.GOARCH, KernelMajor: 4, KernelMinor: 8}, []call{{"ptrace", [6]uint64{}, Allow}}},
		{"admin", Target{Arch: runtime.GOARCH, KernelMajor: 6, Caps: []string{"CAP_SYS_ADMIN"}}, []call{
			{"mount", [6]uint64{}, Allow}, {"clone", [6]uint64{unix.CLONE_NEWNS}, Allow}, {"clone3", [6]uint64{}, Allow}}},
		{"boot", Target{Arch: runtime.GOARCH, KernelMajor: 6, Caps: []string{"CAP_SYS_BOOT"}}, []call{
			{"reboot", [6]uint64{}, Allow}, {"mount", [6]uint64{}, eperm}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, bpf := compiled(t, load(t, "docker-default"), tt.target)
			check(t, bpf, tt.calls)
		})
	}
}

func TestResolveNotesAndErrors(t *testing.T) {
	const errno, allow = `{"defaultAction":"SCMP_ACT_ERRNO",`, `{"defaultAction":"SCMP_ACT_ALLOW",`
	rule := func(name, action, more string) string {
		return `{"names":["` + name + `"],"action":"` + action + `"` + more + `}`
	}
	tests := []struct{ name, in, note, err string }{
		{"unknown", errno + `"syscalls":[` + rule("raed", "SCMP_ACT_ALLOW", "") + `]}`, `raed (did you mean read?): unknown to libseccomp`, ""},
		{"unknown denial", allow + `"syscalls":[` + rule("mout", "SCMP_ACT_ERRNO", "") + `]}`, "",
			`syscalls[0].names[0]: system call "mout" is unknown to libseccomp`},
		{"absent", errno + `"syscalls":[` + rule("chown32", "SCMP_ACT_ALLOW", "") + `]}`, `not system calls of amd64, left out: chown32`, ""},
		{"never reached", errno + `"syscalls":[` + rule("read", "SCMP_ACT_ALLOW", "") + `,` + rule("read", "SCMP_ACT_KILL", "") + `]}`,
			`syscalls[1]: read: never reached: syscalls[0] has decided ALLOW without conditions`, ""},
		{"contradiction", errno + `"syscalls":[` + rule("read", "SCMP_ACT_ALLOW",
			`,"args":[{"index":0,"value":1,"op":"SCMP_CMP_EQ"},{"index":0,"value":2,"op":"SCMP_CMP_EQ"}]`) + `]}`,
			`syscalls[0]: read: its conditions can never hold together`, ""},
		{"wide allow", errno + `"syscalls":[` + rule("socket", "SCMP_ACT_ALLOW", `,"args":[{"index":0,"value":40,"op":"SCMP_CMP_GT"}]`) + `]}`,
			`socket: domain > 40 compares 64 bits`, ""},
		{"wide denial", allow + `"syscalls":[` + rule("socket", "SCMP_ACT_ERRNO", `,"args":[{"index":0,"value":40,"op":"SCMP_CMP_EQ"}]`) + `]}`,
			`socket: domain == 40 compares 64 bits`, ""},
		{"foreign only", `{"defaultAction":"SCMP_ACT_ERRNO","architectures":["SCMP_ARCH_ARM"]}`, "",
			`architectures: lists SCMP_ARCH_ARM, but this machine is SCMP_ARCH_X86_64; add SCMP_ARCH_X86_64`},
		{"foreign map", `{"defaultAction":"SCMP_ACT_ERRNO","archMap":[{"architecture":"SCMP_ARCH_ARM"}]}`, "", `archMap: lists SCMP_ARCH_ARM`},
		{"kills", `{"defaultAction":"SCMP_ACT_ERRNO","architectures":["SCMP_ARCH_X86_64","SCMP_ARCH_X86"]}`,
			`not compiled in, a call through them kills the process: SCMP_ARCH_X86`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Parse([]byte(tt.in))
			must.Do(t, err)
			table, err := p.Resolve(Target{Arch: "amd64", KernelMajor: 6})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("got %v, want %s", err, tt.err)
				}
				return
			}
			must.Do(t, err)
			if notes := strings.Join(table.Notes, "\n"); !strings.Contains(notes, tt.note) {
				t.Errorf("notes %q lack %q", notes, tt.note)
			}
		})
	}
}

func TestCompileErrors(t *testing.T) {
	needNative(t)
	if _, err := (&Table{Arch: "vax"}).Compile(); err == nil || !strings.Contains(err.Error(), `cannot compile for "vax"`) {
		t.Errorf("foreign table: %v", err)
	}
	if _, err := Default().Resolve(Target{Arch: "vax"}); err == nil || !strings.Contains(err.Error(), `"vax" is not supported`) {
		t.Errorf("foreign target: %v", err)
	}
	many := func(calls, args int) *Table {
		big := &Table{Arch: runtime.GOARCH, Default: eperm, Newest: -1}
		for i := range calls {
			r := Rule{Name: "ioctl", Nr: 16, Action: Allow}
			for arg := range args {
				r.Conds = append(r.Conds, Cond{Arg: arg, Op: Equal, Value: uint64(i)<<32 | uint64(i)})
			}
			big.Rules = append(big.Rules, r)
		}
		return big
	}
	if _, err := many(600, 2).Compile(); err == nil || !strings.Contains(err.Error(), "instructions, the kernel takes 4096") {
		t.Errorf("a long filter: %v", err)
	}
	if _, err := many(400, 6).Compile(); err == nil || !strings.Contains(err.Error(), "more than 1536 comparisons") {
		t.Errorf("a huge filter: %v", err)
	}
}

func TestTableAsJSONAndText(t *testing.T) {
	table := must.Get(load(t, "openat-denied-first").Resolve(Target{Arch: "amd64", KernelMajor: 6}))(t)
	data := must.Get(json.Marshal(table))(t)
	want := `{"name":"openat","nr":257,"action":"ERRNO(EPERM)","conds":[{"arg":2,"op":"SCMP_CMP_MASKED_EQ","mask":1,"value":1}],"entry":0}`
	if !strings.Contains(string(data), want) {
		t.Errorf("JSON %s\nlacks %s", data, want)
	}
	const text = `seccomp table for amd64
  ERRNO(ENOSYS)         every call newer than number 257 (openat)
  KILL_PROCESS          every call through another ABI (i386, x32, …)
  ERRNO(EPERM)          every call not listed below

ALLOW (4)
  close exit_group read write

BY ARGUMENT (the first line that holds decides)
  openat
    ERRNO(EPERM)        if flags & 1 == 1
    ERRNO(EROFS)        if flags & 2 == 2
    ALLOW               otherwise
`
	if got := table.String(); got != text {
		t.Errorf("got\n%s\nwant\n%s", got, text)
	}
	if flags := (&Table{Flags: load(t, "denylist").Flags}).LoadFlags(); flags != unix.SECCOMP_FILTER_FLAG_LOG {
		t.Errorf("flags %#x", flags)
	}
}
