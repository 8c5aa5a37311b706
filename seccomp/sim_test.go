package seccomp

import (
	"runtime"
	"strings"
	"testing"

	"brig/internal/test/must"
)

func TestSimulate(t *testing.T) {
	allow := insn{code: bpfRet, k: uint32(Allow)}
	tests := []struct {
		name string
		p    []insn
		want Action
	}{
		{"empty", nil, KillProcess},
		{"ret", []insn{allow}, Allow},
		{"no ret", []insn{{code: bpfLoad}}, KillProcess},
		{"bad load", []insn{{code: bpfLoad, k: 64}, allow}, KillProcess},
		{"odd load", []insn{{code: bpfLoad, k: 2}, allow}, KillProcess},
		{"jump out", []insn{{code: bpfJeq, jt: 1}, allow}, KillProcess},
		{"ja out", []insn{{code: bpfJa, k: 0xffffffff}, allow}, KillProcess},
		{"unknown", []insn{{code: 0x28}, allow}, KillProcess},
		{"ret A", []insn{{code: 0x00, k: uint32(Allow)}, {code: 0x16}}, KillProcess},
		{"and", []insn{{code: bpfLoad, k: offNr}, {code: bpfAnd, k: 6}, {code: bpfJeq, k: 4, jf: 1}, allow, {code: bpfRet}}, Allow},
		{"jgt", []insn{{code: bpfLoad, k: offNr}, {code: bpfJgt, k: 5, jt: 1}, allow, {code: bpfRet}}, Allow},
		{"jge", []insn{{code: bpfLoad, k: offNr}, {code: bpfJge, k: 5, jf: 1}, allow, {code: bpfRet}}, Allow},
		{"ja", []insn{{code: bpfJa, k: 1}, {code: bpfRet}, allow}, Allow},
		{"scratch", []insn{{code: 0x02, k: 5}, allow}, KillProcess},
		{"end", []insn{{code: bpfLoad, k: offNr}, {code: bpfJa}, {code: bpfAnd}}, KillProcess},
		{"jset", []insn{{code: bpfLoad, k: offNr}, {code: bpfJset, k: 4, jf: 1}, allow, {code: bpfRet}}, Allow},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Simulate(encode(tt.p), Data{Nr: 5, Arch: 1}); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	if got := Simulate([]byte{6, 0, 0}, Data{}); got != KillProcess {
		t.Errorf("a torn filter: %s", got)
	}
	if got := Simulate(make([]byte, (maxInsns+1)*insnSize), Data{}); got != KillProcess {
		t.Errorf("a long filter: %s", got)
	}
}

func TestDisassemble(t *testing.T) {
	needNative(t)
	table := &Table{Arch: native().Arch, Default: eperm, Newest: 300, Rules: []Rule{
		{Name: "read", Nr: 0, Action: Allow, Conds: []Cond{{Arg: 2, Op: Equal, Value: 1<<32 | 7}}}}}
	bpf := must.Get(table.Compile())(t)
	name, _ := SyscallName(1)
	text := disassemble(bpf)
	for _, want := range []string{"0000  ld   arch\n", "jge  301", "jge  1 (" + name + ")", "ld   arg2.low\n", "ld   arg2.high\n",
		"jeq  0x7 ", "ret  ERRNO(ENOSYS)\n", "ret  ALLOW\n", "ret  ERRNO(EPERM)\n", "ret  KILL_PROCESS\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if got := disassemble([]byte("x")); !strings.HasPrefix(got, "; a filter of 1 bytes") {
		t.Errorf("got %q", got)
	}
}

func FuzzDisassemble(f *testing.F) {
	bpf := must.Get(PresetFilter("default", native(), true))(f)
	f.Add(bpf, int32(16), uint64(0x5412))
	f.Fuzz(func(_ *testing.T, bpf []byte, nr int32, arg uint64) {
		_ = disassemble(bpf)
		_ = Simulate(bpf, Data{Nr: nr, Args: [6]uint64{arg, arg}})
	})
}

func TestActionStrings(t *testing.T) {
	for a, want := range map[Action]string{Allow: "ALLOW", eperm: "ERRNO(EPERM)", Errno: "ERRNO(0)", ErrnoAction(4000): "ERRNO(4000)",
		TraceAction(7): "TRACE(7)", KillThread: "KILL_THREAD", KillProcess: "KILL_PROCESS", Trap: "TRAP", Log: "LOG", Notify: "NOTIFY",
		0x12340000: "UNKNOWN(0x12340000)"} {
		if a.String() != want {
			t.Errorf("%#x is %s, want %s", uint32(a), a, want)
		}
	}
}

func TestSyscallName(t *testing.T) {
	needNative(t)
	a, _ := findArch(native().Arch)
	for _, name := range []string{"read", "execve", "statmount", "mseal", "rseq_slice_yield"} {
		nr, k := a.syscallNumber(name)
		if got, ok := SyscallName(nr); k != isNative || !ok || got != name {
			t.Errorf("%s is %d, which is %s", name, nr, got)
		}
	}
	for _, nr := range []int{-1, -10004, 400, 100000, x32Bit} {
		if got, ok := SyscallName(nr); ok {
			t.Errorf("%d is %s", nr, got)
		}
	}
}

// SyscallName returns the name of a system call of the native architecture.
func SyscallName(nr int) (string, bool) {
	a, ok := findArch(runtime.GOARCH)
	if !ok {
		return "", false
	}
	return a.syscallName(nr)
}

// TraceAction returns the action that notifies a tracer with message n.
func TraceAction(n uint16) Action { return Trace | Action(n) }

// DefaultTable returns the default profile resolved for this machine's architecture and a process without capabilities.
// The profile requires no kernel version.
func DefaultTable() (*Table, error) { return Default().Resolve(Target{Arch: runtime.GOARCH}) }
