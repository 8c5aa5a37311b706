package landlock

import (
	"strings"
	"testing"
	"unsafe"

	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// all handles everything and has a rule of each kind.
var all = Rules{
	Handled: All, HandledNet: BindTCP | ConnectTCP, Scope: AbstractUnix | Signal,
	Paths: []Path{
		{Name: "/", Access: Read},
		{Name: "/tmp", Access: Read | Execute | Write},
		{Name: "/file", Access: Write, File: true, NoLinks: true},
		{Name: "/dir-only", Access: Refer | ReadDir, File: true}, // none of these is for a file
	},
	Ports: []Port{{443, ConnectTCP}, {0, BindTCP | ConnectTCP}},
}

// text returns the program of the rules for an ABI.
func text(abi int) string {
	p, r := program.New(1), all.For(abi)
	set := r.Create(p, 262)
	r.AllowStream(p, set, 1)
	r.Restrict(p, set)
	return p.String()
}

func TestProgram(t *testing.T) {
	const want = `
   1  landlock  landlock_create_ruleset({fs=EXECUTE|WRITE_FILE|READ_FILE|READ_DIR|REMOVE_DIR|REMOVE_FILE|MAKE_CHAR|MAKE_DIR|MAKE_REG|MAKE_SOCK|MAKE_FIFO|MAKE_BLOCK|MAKE_SYM|REFER|TRUNCATE|IOCTL_DEV|RESOLVE_UNIX, net=BIND_TCP|CONNECT_TCP, scoped=ABSTRACT_UNIX_SOCKET|SIGNAL}, 24, 0) = $1
   2  landlock  openat2(AT_FDCWD, "/", {O_PATH|O_CLOEXEC, RESOLVE_NO_MAGICLINKS}, 24) = $2
   3  landlock  dup3($2, 262, O_CLOEXEC)
   4  landlock  landlock_add_rule($1, LANDLOCK_RULE_PATH_BENEATH, {READ_FILE|READ_DIR, fd 262}, 0)
   5  landlock  openat2(AT_FDCWD, "/tmp", {O_PATH|O_CLOEXEC, RESOLVE_NO_MAGICLINKS}, 24) = $3
   6  landlock  dup3($3, 262, O_CLOEXEC)
   7  landlock  landlock_add_rule($1, LANDLOCK_RULE_PATH_BENEATH, {EXECUTE|WRITE_FILE|READ_FILE|READ_DIR|REMOVE_DIR|REMOVE_FILE|MAKE_DIR|MAKE_REG|MAKE_SOCK|MAKE_FIFO|MAKE_SYM|REFER|TRUNCATE, fd 262}, 0)
   8  landlock  openat2(AT_FDCWD, "/file", {O_PATH|O_CLOEXEC, RESOLVE_NO_SYMLINKS}, 24) = $4
   9  landlock  dup3($4, 262, O_CLOEXEC)
  10  landlock  landlock_add_rule($1, LANDLOCK_RULE_PATH_BENEATH, {WRITE_FILE|TRUNCATE, fd 262}, 0)
  11  landlock  landlock_add_rule($1, LANDLOCK_RULE_NET_PORT, {CONNECT_TCP, port 443}, 0)
  12  landlock  landlock_add_rule($1, LANDLOCK_RULE_NET_PORT, {BIND_TCP|CONNECT_TCP, port 0}, 0)
  13  landlock  landlock_add_rule($1, LANDLOCK_RULE_PATH_BENEATH, {WRITE_FILE|READ_FILE|TRUNCATE|IOCTL_DEV, fd 1}, 0) or go on
  14  landlock  landlock_restrict_self($1, LOG_SAME_EXEC_OFF|LOG_SUBDOMAINS_OFF)
`
	if got := text(9); got != want[1:] {
		t.Errorf("got\n%swant%s", got, want)
	}
}

// TestFor: a kernel is asked for nothing that came after its ABI, neither to handle it nor in a rule.
func TestFor(t *testing.T) {
	came := []struct {
		abi  int
		name string
	}{{1, "EXECUTE"}, {1, "MAKE_SYM"}, {2, "REFER"}, {3, "TRUNCATE"}, {4, "TCP"}, {4, "NET_PORT"}, {5, "IOCTL_DEV"},
		{6, "ABSTRACT_UNIX_SOCKET"}, {6, "SIGNAL"}, {7, "LOG_SUBDOMAINS_OFF"}, {9, "RESOLVE_UNIX"}}
	for abi := 1; abi <= 11; abi++ {
		got := text(abi)
		for _, c := range came {
			if has := strings.Contains(got, c.name); has != (abi >= c.abi) {
				t.Errorf("ABI %d: %s is there: %v", abi, c.name, has)
			}
		}
	}
}

// TestNumbers: the bits are the kernel's.
func TestNumbers(t *testing.T) {
	for a, want := range map[Access]uint64{Execute: unix.LANDLOCK_ACCESS_FS_EXECUTE, ReadDir: unix.LANDLOCK_ACCESS_FS_READ_DIR,
		MakeSym: unix.LANDLOCK_ACCESS_FS_MAKE_SYM, Refer: unix.LANDLOCK_ACCESS_FS_REFER,
		Truncate: unix.LANDLOCK_ACCESS_FS_TRUNCATE, IoctlDev: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV,
		ResolveUnix: unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX, All: 1<<17 - 1} {
		if uint64(a) != want {
			t.Errorf("%s is %#x, want %#x", show(uint64(a), fsNames), uint64(a), want)
		}
	}
	if len(fsNames) != 17 || Write&(MakeChar|MakeBlock|IoctlDev|Execute) != 0 {
		t.Error("a right has no name, or Write makes devices")
	}
}

// TestKernel: what Restrict appends for this kernel's ABI, this kernel takes.
func TestKernel(t *testing.T) {
	abi := ABI()
	if abi == 0 {
		t.Skip("the kernel has no Landlock")
	}
	r := all.For(abi)
	attr := [3]uint64{uint64(r.Handled), uint64(r.HandledNet), uint64(r.Scope)}
	if err := create(&attr); err != nil {
		t.Errorf("ABI %d: %v", abi, err)
	}
}

func create(attr *[3]uint64) error {
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(attr)), unsafe.Sizeof(*attr), 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}
