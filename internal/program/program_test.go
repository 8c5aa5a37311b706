package program

import (
	"strings"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// everything has each kind of argument and each kind of operation.
func everything() *Program {
	p := New(2)
	p.Add("int", unix.SYS_PRCTL, Int(-1), Int(uint64(1)<<63), Int(4095), Int(4096), Named(7, "SEVEN"), CWD())
	fd := p.Open("open", unix.SYS_OPENAT, CWD(), Str("a\n\"\x80é"), Int(0))
	p.Add("may", unix.SYS_MKDIRAT, fd.Arg(), Str(""), Int(0o755)).May(unix.EEXIST, unix.EROFS)
	p.Add("bytes", unix.SYS_WRITE, fd.Arg(), Bytes([]byte{1, 2, 3}), Int(3))
	p.Add("empty", unix.SYS_WRITE, fd.Arg(), Bytes(nil), Int(0))
	p.Close("close", fd)
	argv := Strs([]string{"sh", "-c", "exit 3"})
	for _, dir := range []string{"/bin/sh", "/usr/bin/sh"} {
		p.Add("exec", unix.SYS_EXECVE, Str(dir), argv, Strs(nil))
	}
	p.Add("filter", unix.SYS_SECCOMP, Int(1), Int(0), Struct(make([]byte, 16), Text("{2 instructions}")).WithPointer(8, make([]byte, 16)))
	p.Add("message", unix.SYS_SENDMSG, Slot(1).Arg(), Struct(make([]byte, 32), Text("{msg}")).WithOwnPointer(0, 16).WithOwnPointer(16, 24))
	p.Add("init", Fork, Slot(1).Arg())
	p.Add("same", Same, Slot(0).Arg(), Int(uint64(1)<<40), Int(9))
	p.Add("odd", 4000)
	return p
}

func TestStringReadsAsStraceWould(t *testing.T) {
	want := `
   1  int       prctl(-1, -9223372036854775808, 4095, 0x1000, SEVEN, AT_FDCWD)
   2  open      openat(AT_FDCWD, "a\n\"\x80\u00e9", 0) = $2
   3  may       mkdirat($2, "", 493) or go on
   4  bytes     write($2, [3 bytes], 3)
   5  empty     write($2, [0 bytes], 0)
   6  close     close($2)
   7  exec      execve("/bin/sh", ["sh", "-c", "exit 3"], [])
   8  exec      execve("/usr/bin/sh", ["sh", "-c", "exit 3"], [])
   9  filter    seccomp(1, 0, {2 instructions})
  10  message   sendmsg($1, {msg})
  11  init      fork_init($1)
  12  same      same_file($0, 0x10000000000, 9)
  13  odd       syscall_4000()
`[1:]
	if got := everything().String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestStringBoundsAndEscapesWhatItPrints(t *testing.T) {
	long := strings.Repeat("x", 119) + "é" + strings.Repeat("y", 1000) // the cut splits a rune
	list := make([]string, 500)
	for i := range list {
		list[i] = "\x1b[2J"
	}
	p := New(0)
	p.Add("l", unix.SYS_EXECVE, Str(long), Strs(list), Strs([]string{long}))
	got := p.String()
	if len(got) > 1500 || !strings.Contains(got, "…") || !strings.Contains(got, " more]") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	for _, r := range strings.ReplaceAll(strings.TrimSuffix(got, "\n"), "…", "") {
		if r < ' ' || r > '~' {
			t.Errorf("raw %q in %s", r, got)
		}
	}
}

func TestEncodeKeepsEverything(t *testing.T) {
	p := everything()
	for _, r := range []Request{{Cgroup: -1}, {Kind: Self, Cgroup: 1, CloneFlags: 1<<63 | 1, Ward: true}} {
		b := must.Get(p.Encode(r))(t)
		d := must.Get(decode(b))(t)
		same(t, p, d)
		if d.kind != uint32(r.Kind) || d.cgroup != int32(r.Cgroup) || d.clone != r.CloneFlags || d.flags == 1 != r.Ward {
			t.Errorf("%+v became %+v", r, d)
		}
	}
}

// The tries of one command in the directories of PATH must not carry its arguments once each.
func TestEncodeSharesArrays(t *testing.T) {
	size := func(tries int) int {
		p, argv := New(0), Strs([]string{strings.Repeat("x", 100_000)})
		for range tries {
			p.Add("exec", unix.SYS_EXECVE, Str("/bin/true"), argv, Strs(nil))
		}
		b := must.Get(p.Encode(Request{Cgroup: -1}))(t)
		return len(b)
	}
	if one, six := size(1), size(6); six > one+1000 {
		t.Errorf("six tries take %d bytes, one takes %d", six, one)
	}
}

func TestEncodeRefusesTooMuch(t *testing.T) {
	big := New(0)
	big.Add("w", unix.SYS_WRITE, Int(1), Bytes(make([]byte, MaxBlob)))
	if _, err := big.Encode(Request{}); err == nil || !strings.Contains(err.Error(), "bytes are more than 16777216") {
		t.Errorf("a program over MaxBlob: %v", err)
	}
	fits := New(0)
	fits.Add("w", unix.SYS_WRITE, Int(1), Bytes(make([]byte, MaxBlob-HeaderSize-OpSize-1)))
	if b, err := fits.Encode(Request{}); err != nil || len(b) != MaxBlob {
		t.Errorf("a program of MaxBlob: %d bytes, %v", len(b), err)
	}
	for n, ok := range map[int]bool{255: true, 256: false} { // 0xff says that no slot is meant
		p := New(2)
		for range n - 2 {
			p.Open("o", unix.SYS_DUP, Int(0))
		}
		b, err := p.Encode(Request{})
		if ok != (err == nil) {
			t.Fatalf("%d slots: %v", n, err)
		}
		if !ok {
			continue
		}
		d, err := decode(b)
		must.Do(t, err)
		same(t, p, d)
		if last := d.ops[len(d.ops)-1].save; last != 254 {
			t.Errorf("the last slot is %d", last)
		}
	}
}

func TestSlotsAreReused(t *testing.T) {
	p := New(3)
	a := p.Open("o", unix.SYS_DUP, Int(0))
	b := p.Open("o", unix.SYS_DUP, Int(0))
	p.Close("c", a)
	c := p.Open("o", unix.SYS_DUP, Int(0))
	if a != 3 || b != 4 || c != a {
		t.Errorf("slots %d %d %d, want 3 4 3", a, b, c)
	}
	for range 10_000 { // a long program needs no more slots than it holds at once
		p.Close("c", p.Open("o", unix.SYS_DUP, Int(0)))
	}
	if _, err := p.Encode(Request{}); err != nil || p.next != 6 {
		t.Errorf("%d slots, %v", p.next, err)
	}
}

func TestNamesAreUnique(t *testing.T) {
	seen := map[uint32]string{}
	for _, n := range names {
		if seen[n.nr] != "" || Name(n.nr) != n.name {
			t.Errorf("%s has number %d, as %s", n.name, n.nr, seen[n.nr])
		}
		seen[n.nr] = n.name
	}
	if Name(Fork) != "fork_init" || Name(Same) != "same_file" || Name(4000) != "syscall_4000" {
		t.Error("pseudo calls or unknown numbers have other names")
	}
}
