package seccomp

import (
	"bytes"
	"runtime"
	"slices"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

func TestNotifyKills(t *testing.T) {
	ret := func(a Action) insn { return insn{code: bpfRet, k: uint32(a)} }
	load := insn{code: bpfLoad}
	is := func(nr uint32) insn { return insn{code: bpfJeq, jf: 1, k: nr} }
	eperm := ErrnoAction(unix.EPERM)
	for _, test := range []struct {
		name      string
		in, wants []insn // wants nil: unchanged
	}{
		{"kill process", []insn{load, is(1), ret(KillProcess), ret(Allow)}, []insn{load, is(1), ret(Notify), ret(Allow)}},
		{"kill thread", []insn{load, is(1), ret(KillThread), ret(Allow)}, []insn{load, is(1), ret(Notify), ret(Allow)}},
		{"kill with data", []insn{ret(KillProcess | 7)}, []insn{ret(Notify)}},
		{"several", []insn{load, is(1), ret(eperm), is(2), ret(KillThread), ret(KillProcess)},
			[]insn{load, is(1), ret(eperm), is(2), ret(Notify), ret(Notify)}},
		{"nobody is killed", []insn{load, is(1), ret(eperm), ret(Allow)}, nil},
		{"a constant that looks like an answer", []insn{load, is(uint32(KillProcess)), ret(Log), ret(Allow)}, nil},
		{"a listener of its own", []insn{load, is(1), ret(KillProcess), ret(Notify)}, nil},
		{"a computed answer", []insn{load, is(1), ret(KillProcess), {code: 0x16}}, nil},
	} {
		in := encode(test.in)
		was := slices.Clone(in)
		out, changed := NotifyKills(in)
		want := test.in
		if test.wants != nil {
			want = test.wants
		}
		if changed != (test.wants != nil) || !bytes.Equal(out, encode(want)) || !bytes.Equal(in, was) {
			t.Errorf("%s: changed %v, % x", test.name, changed, out)
		}
	}
	for _, bad := range [][]byte{nil, {}, make([]byte, 7), make([]byte, 16), bytes.Repeat(encode([]insn{ret(KillProcess)}), maxInsns+1)} {
		if out, changed := NotifyKills(bad); changed || !bytes.Equal(out, bad) {
			t.Errorf("% x is taken for a filter", bad)
		}
	}
}

// The meaning changes where the filter kills or, for NotifyDenials, answers EPERM, and nowhere else: on every system call
// of every preset. No other errno is heard, and no call is allowed.
func TestNotifyChangesOnlyWhatIsHeard(t *testing.T) {
	for _, name := range Presets() {
		p := must.Get(Preset(name))(t)
		table := must.Get(p.Resolve(Target{Arch: runtime.GOARCH}))(t)
		bpf := must.Get(table.Compile())(t)
		out, changed := NotifyKills(bpf)
		counted, counts := NotifyDenials(bpf)
		if !changed || !counts {
			t.Errorf("%s kills for no foreign ABI", name)
		}
		for _, arch := range []uint32{0, 0x40000003, 0x12345678} {
			for nr := range int32(600) {
				for _, d := range []Data{{Nr: nr, Arch: arch}, {Nr: nr | x32Bit, Arch: arch}} {
					was, is := Simulate(bpf, d), Simulate(out, d)
					if kill := was.Kills(); kill != (is == Notify) || !kill && is != was {
						t.Fatalf("%s: %+v: %s, and then %s", name, d, was, is)
					}
					heard := was.Kills() || was == ErrnoAction(unix.EPERM)
					if is := Simulate(counted, d); heard != (is == Notify) || !heard && is != was {
						t.Fatalf("%s: %+v: %s, and counted %s", name, d, was, is)
					}
				}
			}
		}
	}
}

func TestCallName(t *testing.T) {
	for _, test := range []struct {
		nr        int32
		audit     uint32
		name, abi string
	}{
		{83, unix.AUDIT_ARCH_X86_64, "mkdir", "x86_64"}, {83 | x32Bit, unix.AUDIT_ARCH_X86_64, "mkdir", "x32"},
		{39, unix.AUDIT_ARCH_I386, "mkdir", "i386"}, {34, unix.AUDIT_ARCH_AARCH64, "mkdirat", "aarch64"},
		{-1, unix.AUDIT_ARCH_X86_64, "", "x86_64"}, {5000, unix.AUDIT_ARCH_I386, "", "i386"}, {1, 0x12345678, "", "0x12345678"},
	} {
		if name, abi := CallName(test.nr, test.audit); name != test.name || abi != test.abi {
			t.Errorf("%d of %#x is %q of %q, want %q of %q", test.nr, test.audit, name, abi, test.name, test.abi)
		}
	}
}
