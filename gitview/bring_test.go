package gitview

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

const hash = "0123456789abcdef0123456789abcdef01234567"

// scene makes a git directory and an upper directory by scripts.
func scene(t *testing.T, base, upper string) (dir, up string) {
	t.Helper()
	top := t.TempDir()
	dir, up = top+"/base", top+"/upper"
	must.Do(t, errors.Join(os.Mkdir(dir, 0o755), os.Mkdir(up, 0o755)))
	onHost(t, dir, "mkdir -p objects/pack refs/heads hooks; echo ref: refs/heads/main >HEAD; echo "+hash+" >refs/heads/main; "+base)
	onHost(t, up, upper)
	return dir, up
}

// bringBack brings what is in an upper directory to a git directory.
func bringBack(t *testing.T, dir, up string, started time.Time, step func(string)) *Report {
	t.Helper()
	return must.Get(bringTo(dir, up, started, step))(t)
}

func bringTo(dir, up string, started time.Time, step func(string)) (*Report, error) {
	base, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer base.Close()
	upper, err := os.Open(up)
	if err != nil {
		return nil, err
	}
	defer upper.Close()
	r := &Report{}
	c := &comparer{report: r, started: started.UnixNano(), known: map[string]bool{}, takesBack: func(string) bool { return false }}
	return r, c.bring(base, upper, step)
}

// TestBringBack: what comes to the host is regular data alone, and nothing goes through a link of either side.
func TestBringBack(t *testing.T) {
	future := time.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		base, upper     string
		started         time.Time
		left, conflicts []string
		check           string // a script that succeeds in the git directory
	}{
		"data":              {"", "echo x >COMMIT_EDITMSG; mkdir -p refs/heads/a objects/ab; echo " + hash + " >refs/heads/a/b; echo o >objects/ab/c", future, nil, nil, "grep x COMMIT_EDITMSG; test -f refs/heads/a/b -a -f objects/ab/c"},
		"links":             {"", "for f in COMMIT_EDITMSG FETCH_HEAD index; do ln -s /etc/passwd $f; done; mkdir logs; ln -s ../../x logs/HEAD", future, []string{"COMMIT_EDITMSG", "FETCH_HEAD", "index", "logs/HEAD"}, nil, "test ! -L index -a ! -e logs"},
		"link of host":      {"echo secret >../secret; ln -s ../secret COMMIT_EDITMSG; mkdir ../out; ln -s ../out logs", "echo x >COMMIT_EDITMSG; mkdir logs; echo x >logs/HEAD", future, []string{"COMMIT_EDITMSG", "logs (removed)", "logs/HEAD"}, nil, "grep secret ../secret; test ! -e ../out/HEAD -a -L COMMIT_EDITMSG"},
		"other types":       {"", "mkfifo MERGE_MSG; mkdir hooks; echo x >hooks/pre-commit; echo x >config", future, []string{"MERGE_MSG", "config", "hooks/pre-commit"}, nil, "test ! -e MERGE_MSG -a ! -e config -a ! -e hooks/pre-commit"},
		"modes":             {"", "echo x >MERGE_MSG; chmod 7777 MERGE_MSG; echo x >ORIG_HEAD; chmod 0 ORIG_HEAD", future, nil, nil, "test $(stat -c %a MERGE_MSG) = 644 -a $(stat -c %a ORIG_HEAD) = 400"},
		"bad HEAD":          {"", "echo ref: config >HEAD", future, []string{"HEAD"}, nil, "grep main HEAD"},
		"bad reference":     {"", "mkdir -p refs/heads; echo ref: ../../x >refs/heads/x", future, []string{"refs/heads/x"}, nil, "test ! -e refs/heads/x"},
		"an object again":   {"echo o >objects/o", "mkdir objects; echo evil >objects/o", future, []string{"objects/o"}, nil, "grep o objects/o"},
		"raced":             {"", "mkdir -p refs/heads; echo ref: refs/heads/x >refs/heads/main", time.Now().Add(-time.Hour), nil, []string{"refs/heads/main"}, "grep " + hash + " refs/heads/main"},
		"locked":            {"touch refs/heads/main.lock", "mkdir -p refs/heads; echo ref: refs/heads/x >refs/heads/main", future, nil, []string{"refs/heads/main"}, "grep " + hash + " refs/heads/main"},
		"file to directory": {"", "mkdir -p refs/heads/main; echo " + hash + " >refs/heads/main/x", future, nil, nil, "test -f refs/heads/main/x"},
		"directory to file": {"mkdir refs/heads/a; echo " + hash + " >refs/heads/a/b", "mkdir -p refs/heads; echo " + hash + " >refs/heads/a", future, nil, nil, "test -f refs/heads/a"},
		"new worktree":      {"", "mkdir -p worktrees/w modules/m/refs; echo x >worktrees/w/HEAD; echo x >modules/m/HEAD", future, []string{"modules/m", "worktrees/w"}, nil, "test ! -e worktrees -a ! -e modules"},
		"known worktree":    {"mkdir -p worktrees/w; echo ref: refs/heads/main >worktrees/w/HEAD", "mkdir -p worktrees/w; echo ref: refs/heads/w >worktrees/w/HEAD; echo x >worktrees/w/gitdir", future, []string{"worktrees/w/gitdir"}, nil, "grep heads/w worktrees/w/HEAD; test ! -e worktrees/w/gitdir"},
		"noise":             {"", "touch index.lock gc.pid; mkdir -p objects/info; echo x >objects/info/packs", future, nil, nil, "test ! -e index.lock"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, up := scene(t, c.base, c.upper)
			r := bringBack(t, dir, up, c.started, nil)
			slices.Sort(r.LeftBehind)
			if !slices.Equal(r.LeftBehind, c.left) || !slices.Equal(r.Conflicts, c.conflicts) || r.Left != len(c.left) {
				t.Errorf("%+v", r)
			}
			onHost(t, dir, c.check)
			if temp, err := exec.Command("find", dir, "-name", "*brig*").Output(); err != nil || len(temp) > 0 {
				t.Errorf("left: %s%v", temp, err)
			}
		})
	}
}

// TestRefreshedIndex: `git status` of the host is no change of the index, and another one is.
func TestRefreshedIndex(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	for script, conflicts := range map[string]int{"touch -d 2001-01-01 a; git status": 0, "echo 3 >b; git add b": 1, "cat .git/index >i; cat i >.git/index": 1} {
		top := t.TempDir()
		onHost(t, top, "mkdir r upper; cd r; "+history+"; cp -r . ../run; cd ../run; echo x >x; git add x; mv .git/index ../upper")
		dir := must.Get(os.Open(top + "/r/.git"))(t)
		index := openIndex(dir)
		defer func() { must.Do(t, errors.Join(dir.Close(), index.Close())) }()
		onHost(t, top+"/r", script)
		upper := must.Get(os.Open(top + "/upper"))(t)
		defer upper.Close()
		c := &comparer{report: &Report{}, started: 1, index: index, known: map[string]bool{}, takesBack: func(string) bool { return false }}
		must.Do(t, c.bring(dir, upper, nil))
		if len(c.report.Conflicts) != conflicts || c.report.Files != 1-conflicts {
			t.Errorf("%s: %+v", script, c.report)
		}
	}
}

// TestRemovals: whiteouts remove data, an opaque directory all that it hides, and nothing makes a repository invalid.
func TestRemovals(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mknod(2) of a whiteout takes root")
	}
	dir, up := scene(t, "mkdir objects/ab refs/heads/d logs; touch objects/ab/c objects/pack/p MERGE_HEAD hooks/h refs/heads/d/e logs/HEAD",
		"mkdir refs; for f in HEAD objects hooks MERGE_HEAD refs/heads logs; do mknod $f c 0 0; done")
	r := bringBack(t, dir, up, time.Now().Add(time.Hour), nil)
	slices.Sort(r.LeftBehind)
	if want := []string{"HEAD (removed)", "hooks (removed)"}; !slices.Equal(r.LeftBehind, want) {
		t.Errorf("%+v", r)
	}
	onHost(t, dir, "test -f HEAD -a -d objects/pack -a -d refs -a -f hooks/h; test ! -e MERGE_HEAD -a ! -e logs -a ! -e refs/heads -a ! -e objects/ab -a ! -e objects/pack/p")
	dir, up = scene(t, "touch objects/o", "mknod objects c 0 0; mkdir -p refs/heads; echo x >refs/heads/main")
	if r = bringBack(t, dir, up, time.Now().Add(-time.Hour), nil); len(r.Conflicts) != 2 {
		t.Errorf("%+v", r)
	}
	onHost(t, dir, "test -f objects/o")
}

// killVar makes this program bring back from one directory to another, and kill itself after some steps: "N BASE UPPER".
const killVar = "BRIG_TEST_GITVIEW_KILL"

func killed() {
	var n, at int
	var dir, up string
	_, err := fmt.Sscan(os.Getenv(killVar), &n, &dir, &up)
	if err == nil {
		_, err = bringTo(dir, up, time.Now().Add(time.Hour), func(string) {
			if at++; at > n {
				_ = unix.Kill(os.Getpid(), unix.SIGKILL)
				select {}
			}
		})
	}
	if err != nil {
		panic(err)
	}
}

// TestKilled: a keeper that is killed (SIGKILL) at any step leaves a sound repository, and another run goes on.
func TestKilled(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	top := t.TempDir()
	onHost(t, top, "mkdir r; cd r; "+history+"; cp -r .git ../old; git checkout -qb new; echo 3 >a; git commit -qam three; git gc -q; mv .git ../new")
	at, up, steps := filepath.Join(top, "at"), filepath.Join(top, "new"), 0
	for ended := false; !ended; steps++ {
		onHost(t, top, "rm -rf at; mkdir at; cp -r old at/.git; cp r/a at/a")
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s %s", killVar, steps*3, at+"/.git", up))
		out, err := cmd.CombinedOutput()
		if ended = err == nil; !ended && cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("%v\n%s", err, out)
		}
		text := onHost(t, at, "git fsck 2>&1; git log --oneline >/dev/null; git status >/dev/null")
		if strings.Contains(text, "error") || strings.Contains(text, "missing") {
			t.Fatalf("after %d steps: %s", steps*3, text)
		}
	}
	if out := onHost(t, at, "git log -1 --format=%s"); out != "three\n" || steps < 3 {
		t.Errorf("%q after %d steps", out, steps)
	}
	onHost(t, top, "rm -rf at; mkdir at; cp -r old at/.git; cp r/a at/a")
	bringBack(t, at+"/.git", up, time.Now().Add(time.Hour), nil)
	onHost(t, at, "git fsck; git log -1 --format=%s | grep three; git gc -q --prune=now; ! find . -name '*brig*' | grep .")
}
