package seccomp

import (
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brig/internal/words"
)

// What a reader sees of a condition: arguments, values and operators by the names of the man pages.
func TestCondText(t *testing.T) {
	for _, tt := range []struct {
		call  string
		conds []Cond
		want  string
	}{
		{"socket", []Cond{{Arg: 0, Op: Equal, Value: unix.AF_INET6}}, "domain == 10 (AF_INET6)"},
		{"socket", []Cond{{Arg: 0, Op: MaskedEq, Mask: 0xffffffff, Value: unix.AF_NETLINK}, {Arg: 2, Op: NotEqual, Value: 0}},
			"domain[31:0] == 16 (AF_NETLINK) and protocol != 0"},
		{"socketpair", []Cond{{Arg: 0, Op: Equal, Value: unix.AF_UNIX}}, "domain == 1 (AF_UNIX)"},
		{"ioctl", []Cond{{Arg: 1, Op: MaskedEq, Mask: 0xffffffff, Value: unix.TIOCSTI}}, "cmd[31:0] == 0x5412 (TIOCSTI)"},
		{"ioctl", []Cond{{Arg: 1, Op: Equal, Value: 4}}, "cmd == 4"},
		{"personality", []Cond{{Arg: 0, Op: Equal, Value: 0}}, "persona == 0 (PER_LINUX)"},
		{"read", []Cond{{Arg: 2, Op: LessOrEqual, Value: 999}}, "arg2 <= 999"},
		{"read", []Cond{{Arg: 2, Op: Greater, Value: 1000}}, "arg2 > 0x3e8"},
		{"read", []Cond{{Arg: 0, Op: MaskedEq, Mask: 6, Value: 2}}, "arg0 & 6 == 2"},
		{"read", nil, ""},
	} {
		if got := condText(Rule{Name: tt.call, Conds: tt.conds}); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.call, got, tt.want)
		}
	}
}

func TestOpsAsText(t *testing.T) {
	for op, want := range map[Op]string{NotEqual: "!=", Less: "<", LessOrEqual: "<=", Equal: "==", GreaterOrEqual: ">=",
		Greater: ">", MaskedEq: "==", 9: "Op(9)"} {
		if got := op.String(); got != want {
			t.Errorf("%d: %s, want %s", op, got, want)
		}
		text, err := op.MarshalText()
		if known, ok := parseOp(string(text)); (err == nil) != (op <= MaskedEq) || ok && known != op {
			t.Errorf("%s: %q, %v", op, text, err)
		}
	}
	if (Cond{Op: 9}).Holds([6]uint64{}) {
		t.Error("an operator that does not exist holds")
	}
}

func TestHolds(t *testing.T) {
	for _, tt := range []struct {
		c     Cond
		holds []uint64
		not   []uint64
	}{
		{Cond{Op: NotEqual, Value: 5}, []uint64{4, 6, 5 | 1<<32}, []uint64{5}},
		{Cond{Op: Less, Value: 5}, []uint64{0, 4}, []uint64{5, 6, 1 << 63}},
		{Cond{Op: LessOrEqual, Value: 5}, []uint64{0, 5}, []uint64{6, 1 << 63}},
		{Cond{Op: Equal, Value: 5}, []uint64{5}, []uint64{4, 5 | 1<<32}},
		{Cond{Op: GreaterOrEqual, Value: 5}, []uint64{5, 1 << 63}, []uint64{0, 4}},
		{Cond{Op: Greater, Value: 5}, []uint64{6, 1 << 63}, []uint64{0, 5}},
		{Cond{Op: MaskedEq, Mask: 6, Value: 2}, []uint64{2, 3, 0xa}, []uint64{0, 4, 6}},
	} {
		for i, list := range [][]uint64{tt.holds, tt.not} {
			for _, v := range list {
				if got := tt.c.Holds([6]uint64{v}); got != (i == 0) {
					t.Errorf("%+v of %#x: %v", tt.c, v, got)
				}
			}
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"read", "readv", "openat", "io_uring_setup"}
	for got, want := range map[string]string{"raed": "read", "opnat": "openat", "OPENAT": "openat", "io_uring": "io_uring_setup",
		"x": "", "frobnicate": "", strings.Repeat("read", 20): ""} {
		if near := words.Nearest(got, names); near != want {
			t.Errorf("%s: %q, want %q", got, near, want)
		}
	}
	if got := words.QuoteASCII(strings.Repeat("é", 100)); len(got) > 300 || !strings.HasSuffix(got, "... (200 bytes)") {
		t.Errorf("%q", got)
	}
}

func TestLeaveKills(t *testing.T) {
	guard := encode([]insn{{code: bpfLoad}, {code: bpfJeq, jt: 1, k: uint32(KillProcess)}, ret(KillProcess), ret(ErrnoAction(1))})
	want := encode([]insn{{code: bpfLoad}, {code: bpfJeq, jt: 1, k: uint32(KillProcess)}, ret(Allow), ret(ErrnoAction(1))})
	if got := LeaveKills(guard); string(got) != string(want) {
		t.Errorf("% x", got)
	}
}

func TestPermitsAll(t *testing.T) {
	a, _ := findArch(runtime.GOARCH)
	p := encode([]insn{{code: bpfLoad, k: offArch}, {code: bpfJeq, jt: 1, k: a.audit}, ret(KillProcess), {code: bpfLoad},
		{code: bpfJge, jt: 1, k: 3}, ret(Allow), ret(Log), ret(ErrnoAction(1))})
	p2 := encode([]insn{{code: bpfLoad}, {code: bpfJeq, jt: 1, k: 3}, ret(Allow), ret(ErrnoAction(1))})
	for _, tt := range []struct {
		bpf   []byte
		calls []int32
		want  bool
	}{{p, []int32{0, 2, 5}, true}, {p2, []int32{0, 2}, true}, {p2, []int32{0, 3}, false}, {p2, nil, true}, {[]byte("x"), nil, false}} {
		if got := PermitsAll(tt.bpf, tt.calls...); got != tt.want {
			t.Errorf("%v of\n%s: %v", tt.calls, disassemble(tt.bpf), got)
		}
	}
}

// A notice names a call by the ABI through which it came.
func TestCallNames(t *testing.T) {
	for _, tt := range []struct {
		nr        int32
		audit     uint32
		name, abi string
	}{
		{1, unix.AUDIT_ARCH_X86_64, "write", "x86_64"}, {1, unix.AUDIT_ARCH_I386, "exit", "i386"},
		{x32Bit | 1, unix.AUDIT_ARCH_X86_64, "write", "x32"}, {64, unix.AUDIT_ARCH_AARCH64, "write", "aarch64"},
		{99999, unix.AUDIT_ARCH_X86_64, "", "x86_64"}, {1, 0x1234, "", "0x1234"},
	} {
		if name, abi := CallName(tt.nr, tt.audit); name != tt.name || abi != tt.abi {
			t.Errorf("%d of %#x: %q of %q, want %q of %q", tt.nr, tt.audit, name, abi, tt.name, tt.abi)
		}
	}
	if runtime.GOARCH == "amd64" && NativeABI() != "x86_64" {
		t.Error(NativeABI())
	}
}

// Names that an architecture lacks are foreign, and those of no architecture unknown.
func TestSyscallNumbers(t *testing.T) {
	for _, tt := range []struct {
		arch, name string
		nr         int
		known      known
	}{
		{"amd64", "open", 2, isNative}, {"arm64", "open", 0, isForeign}, {"amd64", "uprobe", 336, isNative},
		{"amd64", "uretprobe", 335, isNative}, {"arm64", "uretprobe", 0, isForeign}, {"riscv64", "riscv_hwprobe", 258, isNative},
		{"amd64", "riscv_hwprobe", 0, isForeign}, {"s390x", "statmount", firstNewer, isNative}, {"amd64", "opne", 0, isUnknown},
	} {
		a, ok := findArch(tt.arch)
		if nr, k := a.syscallNumber(tt.name); !ok || nr != tt.nr || k != tt.known {
			t.Errorf("%s on %s: %d, %d", tt.name, tt.arch, nr, k)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		e    ProfileError
		want string
	}{
		{ProfileError{"a[1]", "is x", "write y"}, "seccomp profile: a[1]: is x; write y"},
		{ProfileError{"", "is x", ""}, "seccomp profile: is x"},
	} {
		if tt.e.Error() != tt.want {
			t.Errorf("%q, want %q", tt.e.Error(), tt.want)
		}
	}
	if v := LibraryVersion(); strings.Count(v, ".") != 2 {
		t.Error(v)
	}
}
