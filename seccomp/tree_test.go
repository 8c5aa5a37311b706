package seccomp

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTreeIsLibseccomps runs both compilers' filters over every number and around every constant. (Each has also been
// compared with the table's meaning when it was made.)
func TestTreeIsLibseccomps(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skipf("no tree on %s", runtime.GOARCH)
	}
	guard, err := GuardTable(true)
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]*Table{"guard": guard}
	for _, name := range Presets() {
		p, err := Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		if tables[name], err = p.Resolve(Target{Arch: "amd64"}); err != nil {
			t.Fatal(err)
		}
	}
	for name, table := range tables {
		mine, err := table.CompileTree()
		if err != nil {
			t.Fatal(name, err)
		}
		theirs, err := table.Compile()
		if err != nil {
			t.Fatal(name, err)
		}
		t.Logf("%s: %d instructions, libseccomp %d", name, len(mine)/insnSize, len(theirs)/insnSize)
		p, err := decodeProgram(mine)
		if err != nil {
			t.Fatal(err)
		}
		q, err := decodeProgram(theirs)
		if err != nil {
			t.Fatal(err)
		}
		rules := map[int][]Rule{}
		for _, group := range table.bySyscall() {
			rules[group[0].Nr] = group
		}
		for nr := -3; nr < 1024; nr++ {
			for _, args := range probes(rules[nr]) {
				d := Data{Nr: int32(nr), Arch: unix.AUDIT_ARCH_X86_64, Args: args}
				if a, b := run(p, d), run(q, d); a != b {
					t.Fatalf("%s: system call %d %#x: the tree says %s, libseccomp %s", name, nr, args, a, b)
				}
			}
		}
	}
}

// TestTreeOfEveryOperator: conditions of each operator, alone and together, where halves of 64 bits meet.
func TestTreeOfEveryOperator(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skipf("no tree on %s", runtime.GOARCH)
	}
	values := []uint64{0, 1, 7, 1<<32 - 1, 1 << 32, 1<<32 + 7, 1 << 63, ^uint64(0)}
	for op := NotEqual; op <= MaskedEq; op++ {
		for _, v := range values {
			for _, w := range values {
				table := &Table{Arch: "amd64", Default: ErrnoAction(unix.EPERM), Newest: -1, Rules: []Rule{
					{Name: "read", Nr: 0, Action: Allow, Conds: []Cond{{Arg: 1, Op: op, Mask: w, Value: v}, {Arg: 2, Op: NotEqual, Value: w}}},
					{Name: "read", Nr: 0, Action: ErrnoAction(unix.ENOSYS), Conds: []Cond{{Arg: 2, Op: op, Mask: v, Value: w}}},
				}}
				if _, err := table.CompileTree(); err != nil { // it compares with Eval around each constant
					t.Fatalf("%s %#x %#x: %v", op, v, w, err)
				}
			}
		}
	}
}
