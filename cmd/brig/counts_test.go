package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/count"
	"brig/internal/test/golden"
	"brig/internal/test/must"
	"brig/nsjail"
)

// start is what is counted, from start to exit of /bin/true.
type start struct {
	name    string
	command []string // the first word is found on PATH; brig is the binary under test
	limits  bool     // it needs a control group, which the user has not
	peer    bool     // it is only for comparison
	box     bool     // it needs isolate's box 5
}

var starts = []start{
	{name: "`brig run`", command: strings.Fields("brig run -- /bin/true")},
	{name: "`brig run --input --work --output --timeout`", command: strings.Fields(
		"brig run --input IN --work WORK --output OUT --timeout 30s -- /bin/true")},
	{name: "that with `--memory --pids-limit --cpus`", limits: true, command: strings.Fields("brig run --input IN " +
		"--work WORK --output OUT --timeout 30s --memory 512m --pids-limit 64 --cpus 1 -- /bin/true")},
	{name: "`brig isolate --run`", box: true, command: strings.Fields("brig isolate -s -b 5 --run -- /bin/true")},
	{name: runnerStart, command: strings.Fields("SUITE -test.run=^TestStartsOfARunner$")},
	{name: "nothing around it", peer: true, command: []string{"/bin/true"}},
	{name: "unshare(1) of the same namespaces", peer: true, command: strings.Fields(
		"unshare --user --map-root-user --mount --pid --fork --ipc --uts --net --cgroup --mount-proc /bin/true")},
	{name: "bubblewrap, without a filter", peer: true, command: strings.Fields(bubble + "/bin/true")},
	{name: "that with three binds", peer: true, command: strings.Fields(bubble +
		"--ro-bind IN /input --bind WORK /work --bind OUT /output --chdir /work /bin/true")},
}

const (
	runnerStart = "each start of a `Runner` but the first"
	bubble      = "bwrap --unshare-all --unshare-user --uid 1000 --gid 1000 --hostname brig --die-with-parent " +
		"--new-session --cap-drop ALL --clearenv --setenv PATH /usr/bin:/bin --ro-bind /usr /usr --ro-bind /etc /etc " +
		"--symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --proc /proc --dev /dev --tmpfs /tmp "
)

// allowed returns what a count may be if the table has n: the least of ten runs differs by 1 to 2 %.
func allowed(n int) int { return n + n/25 + 4 }

var countMarks = regexp.MustCompile(`(?s)(<!-- counts: [^>]*-->\n).*?(<!-- end -->)`)

// TestCounts: no start makes more system calls or minor faults than docs/reference/speed.md lists. A greater number there makes
// every start slower, so the commit that raises it must give the reason. With -v the test prints the present table.
func TestCounts(t *testing.T) {
	const file = "../../docs/reference/speed.md"
	if asuser.Second() {
		t.Skip("the first run has counted for this user, too")
	}
	text, err := os.ReadFile(file)
	if n := len(countMarks.FindAll(text, -1)); err != nil || n != 1 {
		t.Fatalf("%d tables are marked in %s: %v", n, file, err)
	}
	c := newCounter(t)
	table := "| from start to exit of /bin/true | system calls | minor faults | of a user's | |\n|---|---|---|---|---|\n"
	for _, s := range starts {
		if s.peer && !golden.Update() && !testing.Verbose() {
			continue
		}
		most, now := s.promised(text), []any{}
		for i, user := range []bool{false, true} {
			n, ok := c.of(t, s, user, most[i])
			switch {
			case !ok:
				now = append(now, "-", "-")
				continue
			case !s.peer && !golden.Update() && (n.Calls > most[i].Calls || n.Faults > most[i].Faults):
				t.Errorf("%s, user %v: %+v, and docs/reference/speed.md allows %+v", s.name, user, n, most[i])
			}
			now = append(now, n.Calls, n.Faults)
		}
		table += "| " + s.name + fmt.Sprintf(" | %v | %v | %v | %v |\n", now...)
	}
	t.Log("\n" + table)
	if golden.Update() {
		text = countMarks.ReplaceAll(text, []byte("${1}"+table+"${2}"))
		must.Do(t, os.WriteFile(file, text, 0o644))
	}
}

// promised returns the counts in the row of the table, as root and as a user, with the allowance.
func (s start) promised(text []byte) (most [2]count.Counts) {
	row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(s.name) + ` \| (\d+) \| (\d+) \| (\d+|-) \| (\d+|-) \|$`)
	cells := row.FindSubmatch(text)
	for i := range most {
		for k, n := range []*int{&most[i].Calls, &most[i].Faults} {
			if cells != nil {
				cell, _ := strconv.Atoi(string(cells[1+2*i+k])) // of "-": 0
				*n = allowed(cell)
			}
		}
	}
	return most
}

// counter has what the commands need, and both users can use.
type counter struct {
	words map[string]string // of a command: what they stand for
	group bool              // the caller may make control groups
}

func newCounter(t *testing.T) *counter {
	t.Helper()
	dir, err := os.MkdirTemp(asuser.Dir(), "counts-")
	must.Do(t, err)
	c := &counter{words: map[string]string{"brig": filepath.Join(dir, "brig"), "SUITE": filepath.Join(dir, "suite")}}
	err = errors.Join(os.Chmod(dir, 0o755), inPages(brigBinary(t), c.words["brig"]),
		inPages("/proc/self/exe", c.words["SUITE"]))
	for _, name := range []string{"IN", "WORK", "OUT"} {
		c.words[name] = filepath.Join(dir, name)
		err = errors.Join(err, os.Mkdir(c.words[name], 0o755), os.Chmod(c.words[name], 0o777))
	}
	must.Do(t, err)
	if c.group, err = canLimit(); err != nil {
		t.Fatal(err)
	}
	return c
}

// makeBox makes isolate's box 5 for the user of a command.
func (c *counter) makeBox(t *testing.T, cmd *count.Command, user bool) {
	t.Helper()
	config := filepath.Join(c.words["WORK"], fmt.Sprint("isolate-", user))
	text := fmt.Sprintf("box_root = %s.boxes\nlock_root = %[1]s.locks\n", config)
	must.Do(t, os.WriteFile(config, []byte(text), 0o644))
	cmd.Env = append(cmd.Env, "BRIG_ISOLATE_CONFIG="+config)
	init := exec.Command(cmd.Args[0], "isolate", "-b5", "--init")
	init.Env, init.SysProcAttr = cmd.Env, &syscall.SysProcAttr{Credential: cmd.As}
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// inPages copies a program page by page. The kernel caches a file in pieces as large as the writes that have made it,
// and maps large ones with fewer faults: a sixth less for what a linker has just written. In pages it is as costly as a
// program that was read from a disk.
func inPages(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	for page := range slices.Chunk(text, 4096) {
		if _, err := f.Write(page); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return errors.Join(f.Sync(), f.Close()) // a page that is being written to the disk is not mapped with its neighbours
}

// of returns the counts of root's start or of the user's, and whether there are any. It runs the command until they are
// below the most that is promised, or ten times where they are to be printed.
func (c *counter) of(t *testing.T, s start, user bool, most count.Counts) (n count.Counts, ok bool) {
	t.Helper()
	root := os.Geteuid() == 0
	if !root && !user || s.limits && (user && root || !c.group) {
		return n, false
	}
	cmd := count.Command{Env: append(os.Environ(), "BRIG_TEST_DIR="+asuser.Dir(), "GOGC=off", startsVar+"=9")}
	if user && root {
		cmd.As = &syscall.Credential{Uid: asuser.UID, Gid: asuser.UID}
	}
	for _, word := range s.command {
		cmd.Args = append(cmd.Args, cmp.Or(c.words[word], word))
	}
	path, err := exec.LookPath(cmd.Args[0])
	if err != nil && s.peer {
		t.Log(err)
		return n, false
	}
	cmd.Args[0] = path
	if s.box {
		c.makeBox(t, &cmd, user)
	}
	first, times := count.Counts{}, 1
	if s.name == runnerStart { // eight more than one
		one := cmd
		one.Env = append([]string{startsVar + "=1"}, cmd.Env...)
		if first, err = one.Least(nil); err != nil {
			t.Fatal(err)
		}
		times = 8
	}
	each := func(n count.Counts) count.Counts {
		return count.Counts{Calls: (n.Calls - first.Calls) / times, Faults: (n.Faults - first.Faults) / times}
	}
	enough := func(n count.Counts) bool { return each(n).Calls <= most.Calls && each(n).Faults <= most.Faults }
	if s.peer || golden.Update() || testing.Verbose() {
		enough = nil
	}
	if n, err = cmd.Least(enough); err != nil {
		t.Fatal(err)
	}
	return each(n), true
}

// startsVar is the environment variable with the number of jails that TestStartsOfARunner starts; unset means none.
const startsVar = "BRIG_TEST_STARTS"

// TestStartsOfARunner is a process that TestCounts counts.
func TestStartsOfARunner(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv(startsVar))
	if err != nil {
		t.Skip("nobody counts")
	}
	r, err := nsjail.NewRunner()
	must.Do(t, err)
	for range n {
		if _, err := r.Command("/bin/true").Run(); err != nil {
			t.Error(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
