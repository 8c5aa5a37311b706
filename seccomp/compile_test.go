package seccomp

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// sameAsOracle runs a filter and libseccomp's over every number and around every constant.
func sameAsOracle(t *testing.T, name string, table *Table) {
	t.Helper()
	a, _ := findArch(table.Arch)
	mine, err := table.compile(a)
	if err != nil {
		t.Fatal(name, err)
	}
	theirs, err := table.oracle(a)
	if errors.Is(err, errTooManyCubes) {
		return
	}
	if err != nil {
		t.Fatal(name, err)
	}
	p, err := decodeProgram(mine)
	must.Do(t, err)
	q, err := decodeProgram(theirs)
	must.Do(t, err)
	t.Logf("%s: %d instructions, libseccomp %d", name, len(p), len(q))
	_, rules := table.bySyscall()
	for nr := -3; nr < 1024; nr++ {
		for _, args := range probes(rules[nr]) {
			d := Data{Nr: int32(nr), Arch: a.audit, Args: args}
			if x, y := run(p, d), run(q, d); x != y {
				t.Fatalf("%s: system call %d %#x: brig's filter answers %s, libseccomp's %s", name, nr, args, x, y)
			}
		}
	}
}

// TestCompileIsLibseccomps compares the filters of all presets with libseccomp's. (Each has also been compared with the
// table's meaning when it was made.)
func TestCompileIsLibseccomps(t *testing.T) {
	needNative(t)
	guard := must.Get(guardTable(true, true))(t)
	tables := map[string]*Table{"guard": guard}
	for _, name := range Presets() {
		p, err := Preset(name)
		must.Do(t, err)
		if tables[name], err = p.Resolve(Target{Arch: runtime.GOARCH}); err != nil {
			t.Fatal(err)
		}
	}
	for name, table := range tables {
		sameAsOracle(t, name, table)
	}
}

// The filter of each architecture is compared with the table's meaning when it is made: it answers numbers of other
// ABIs in the architecture's own way.
func TestCompileForEveryArchitecture(t *testing.T) {
	for _, name := range []string{"amd64", "arm64", "riscv64", "s390x", "ppc64le"} {
		table := must.Get(Default().Resolve(Target{Arch: name}))(t)
		a, _ := findArch(name)
		bpf := must.Get(table.compile(a))(t)
		p := must.Get(decodeProgram(bpf))(t)
		for nr, want := range map[int32]Action{-1: table.Default, -2: table.Default, x32Bit + 1: table.Default, int32(table.Newest) + 1: ErrnoAction(unix.ENOSYS)} {
			if name == "amd64" && uint32(nr) >= x32Bit && nr != -1 {
				want = KillProcess
			}
			if got := run(p, Data{Nr: nr, Arch: a.audit}); got != want {
				t.Errorf("%s: number %d is answered %s, want %s", name, nr, got, want)
			}
		}
	}
}

// A rule with more conditions than a jump can skip, and rules that together are longer than a jump.
func TestLongJumps(t *testing.T) {
	needNative(t)
	for _, n := range []int{1, 60, 61, 62, 63, 64, 65, 80, 200} {
		r := Rule{Name: "ioctl", Nr: 16, Action: Allow}
		for i := range n {
			r.Conds = append(r.Conds, Cond{Arg: 1, Op: NotEqual, Value: uint64(i)<<32 | uint64(i)})
		}
		table := &Table{Arch: runtime.GOARCH, Default: ErrnoAction(1), Newest: -1, Rules: []Rule{
			r, {Name: "ioctl", Nr: 16, Action: ErrnoAction(2), Conds: []Cond{{Arg: 2, Op: Equal, Value: 5}}}}}
		if _, err := table.Compile(); err != nil { // it compares with Eval around each constant
			t.Errorf("%d conditions: %v", n, err)
		}
	}
}

// TestOverlappingRules compares the filters of invented rule lists with libseccomp's.
func TestOverlappingRules(t *testing.T) {
	needNative(t)
	random := rand.New(rand.NewPCG(7, 8))
	values := []uint64{0, 1, 2, 3, 5, 8, 0x5412, 1<<32 - 1, 1 << 32, 1<<63 + 7, ^uint64(0)}
	actions := []Action{Allow, ErrnoAction(1), ErrnoAction(13), Log, Trap}
	for range 60 {
		table := &Table{Arch: runtime.GOARCH, Default: ErrnoAction(1), Newest: -1}
		for range 1 + random.IntN(4) {
			r := Rule{Name: "ioctl", Nr: 16, Action: actions[random.IntN(len(actions))]}
			for range random.IntN(3) {
				c := Cond{Arg: random.IntN(2), Op: Op(random.IntN(7)), Value: values[random.IntN(len(values))]}
				if c.Op == MaskedEq {
					c.Mask = values[random.IntN(len(values))]
					c.Value &= c.Mask
				}
				r.Conds = append(r.Conds, c)
			}
			table.Rules = append(table.Rules, r)
		}
		sameAsOracle(t, table.lines(table.Rules), table)
	}
}

// TestVerifyCatches alters a good filter in every answer.
func TestVerifyCatches(t *testing.T) {
	needNative(t)
	table := must.Get(DefaultTable())(t)
	bpf := must.Get(table.Compile())(t)
	a, _ := findArch(runtime.GOARCH)
	good := must.Get(decodeProgram(bpf))(t)
	for i := range good {
		if good[i].code != bpfRet {
			continue
		}
		p := append([]insn(nil), good...)
		p[i].k = uint32(Log)
		if err := table.verify(p, a); err == nil {
			t.Errorf("instruction %d is altered, unseen:\n%s", i, disassemble(encode(p)))
		}
	}
}

// canHold agrees with a search: over the values around all constants, and over the cubes of the conditions.
func TestCanHold(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	values := []uint64{0, 1, 2, 3, 7, 8, 0xff, 1<<32 - 1, 1 << 32, 1 << 63, 1<<63 + 7, ^uint64(0) - 1, ^uint64(0)}
	no := 0
	for range 5000 {
		var conds []Cond
		for range 1 + random.IntN(5) {
			c := Cond{Arg: random.IntN(2), Op: Op(random.IntN(7)), Value: values[random.IntN(len(values))]}
			if c.Op == MaskedEq {
				c.Mask = values[random.IntN(len(values))]
				c.Value &= c.Mask
			}
			conds = append(conds, c)
		}
		cubes, err := cubesOf(conds)
		if err != nil {
			continue
		}
		if got, want := canHold(conds), len(cubes) > 0; got != want {
			t.Fatalf("%+v: %v, want %v", conds, got, want)
		}
		if len(cubes) == 0 {
			no++
		}
	}
	if no < 500 {
		t.Errorf("only %d of 5000 lists cannot hold: the test tests little", no)
	}
}

// Conditions of each operator, alone and together, where halves of 64 bits meet.
func TestEveryOperator(t *testing.T) {
	needNative(t)
	values := []uint64{0, 1, 7, 1<<32 - 1, 1 << 32, 1<<32 + 7, 1 << 63, ^uint64(0)}
	for op := NotEqual; op <= MaskedEq; op++ {
		for _, v := range values {
			for _, w := range values {
				table := &Table{Arch: runtime.GOARCH, Default: ErrnoAction(unix.EPERM), Newest: -1, Rules: []Rule{
					{Name: "read", Nr: 0, Action: Allow, Conds: []Cond{{Arg: 1, Op: op, Mask: w, Value: v}, {Arg: 2, Op: NotEqual, Value: w}}},
					{Name: "read", Nr: 0, Action: ErrnoAction(unix.ENOSYS), Conds: []Cond{{Arg: 2, Op: op, Mask: v, Value: w}}},
				}}
				if _, err := table.Compile(); err != nil { // it compares with Eval around each constant
					t.Fatalf("%s %#x %#x: %v", op, v, w, err)
				}
			}
		}
	}
}
