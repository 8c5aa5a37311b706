package gitview

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/nsjail"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

const commit = "git commit -q --allow-empty -m new; echo x >.git/hooks/pre-commit"

// repositoryAt makes a repository, and returns its directory.
func repositoryAt(t *testing.T, name string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := filepath.Join(t.TempDir(), name)
	must.Do(t, os.MkdirAll(dir, 0o755))
	onHost(t, dir, history)
	return dir
}

// isBack checks what has come back of commit, by the reports of a run.
func isBack(t *testing.T, dir string, reports []*Report) {
	t.Helper()
	if len(reports) != 1 || reports[0].Left != 1 || reports[0].Error != "" {
		t.Errorf("%+v", reports)
	}
	if out := onHost(t, dir, "git log --format=%s; ls .git/hooks"); !strings.HasPrefix(out, "new\ntwo\n") || strings.Contains(out, "pre-commit\n") {
		t.Errorf("%q", out)
	}
}

// TestInARunner: the views of one Runner's runs are each run's own.
func TestInARunner(t *testing.T) {
	r := must.Get(nsjail.NewRunner())(t)
	defer r.Close()
	for range 2 {
		dir := repositoryAt(t, "r")
		v := must.Get(Prepare(t.Context(), specOf(dir, commit)))(t)
		c := r.CommandSpec(t.Context(), v.Spec)
		res, err := c.Run()
		if err != nil || res.Status != nsjail.StatusOK {
			t.Fatalf("%v, %+v", err, res)
		}
		isBack(t, dir, v.BringBack(res))
		must.Do(t, v.Close())
	}
}

// TestPipeInAGitDirectory: a FIFO of a git directory is no channel to the host if the payload has a copy of it.
func TestPipeInAGitDirectory(t *testing.T) {
	dir := repositoryAt(t, "r")
	pipe := filepath.Join(dir, ".git", "p")
	must.Do(t, unix.Mkfifo(pipe, 0o666))
	f := must.Get(os.OpenFile(pipe, os.O_RDWR, 0))(t)
	defer f.Close()
	s := specOf(dir, "test -p .git/p && (: <>.git/p; exec 3<>.git/p; echo x >&3; read -r l <&3; echo $l >f)")
	v := must.Get(Prepare(t.Context(), s))(t)
	defer v.Close()
	res, err := jailOf(t, v.Spec).Run()
	if err != nil || res.Status != nsjail.StatusOK {
		t.Fatalf("%v, %+v", err, res)
	}
	v.BringBack(res)
	must.Do(t, f.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	if n, err := f.Read(make([]byte, 8)); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the host reads %d bytes of the payload, %v", n, err)
	}
	s.Git = spec.GitRO
	if _, err := jailOf(t, *s).Run(); err == nil || !strings.Contains(err.Error(), "FIFO") {
		t.Errorf("shown read-only: %v", err)
	}
}

// runs counts jails.
type runs int

// run runs a Spec in a jail of its own.
func (n *runs) run(s *nsjail.Spec) (*nsjail.Result, error) {
	*n++
	c := nsjail.Command("sh")
	c.Spec = *s
	return c.Run()
}

// TestRun: a jail gets the views, whose reports name paths of the jail.
func TestRun(t *testing.T) {
	dir := repositoryAt(t, "r")
	s := specOf(dir, commit)
	s.Protect = nil
	res, reports, note, err := Run(t.Context(), s, new(runs).run)
	if err != nil || res.Status != nsjail.StatusOK || note != "" || len(reports) == 1 && reports[0].Dir != "/work/.git" {
		t.Fatalf("%v, %+v, %q", err, res, note)
	}
	isBack(t, dir, reports)
}

// TestRoots: with another root of the payload, too.
func TestRoots(t *testing.T) {
	dir := repositoryAt(t, "r")
	s := specOf(dir, "cd /mnt; "+commit)
	s.Rootfs, s.Mounts, s.Env = nsjail.Rootfs{Path: "/"}, s.Mounts[:1], []string{"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}
	s.Mounts[0].Target, s.Workdir = "/mnt", "/mnt"
	res, reports, _, err := Run(t.Context(), s, new(runs).run)
	if err != nil || res.Status != nsjail.StatusOK {
		t.Fatalf("%v, %+v", err, res)
	}
	isBack(t, dir, reports)
}

// TestBesideACow: the changes of a cow are the caller's, under the index of its mount in the caller's Spec.
func TestBesideACow(t *testing.T) {
	dir := repositoryAt(t, "r")
	s := specOf(dir, "echo x >d/new; "+commit)
	s.Mounts = append(s.Mounts, nsjail.Mount{Type: nsjail.MountCOW, Source: dir + "/d", Target: "/work/d"})
	v := must.Get(Prepare(t.Context(), s))(t)
	c := nsjail.CommandContext(t.Context(), "sh")
	c.Spec = v.Spec
	res, err := c.Run()
	if err != nil || res.Status != nsjail.StatusOK {
		t.Fatalf("%v, %+v", err, res)
	}
	isBack(t, dir, v.BringBack(res))
	if len(res.Changes) != 1 || res.Changes[0].Mount != 2 || res.Changes[0].Target != "/work/d" {
		t.Fatalf("%+v", res.Changes)
	}
	onHost(t, dir, "! test -e d/new")
	must.Do(t, errors.Join(res.Changes[0].Close(), v.Close()))
}

// TestFallback: where no overlay can be made, git directories are read-only, and that is told.
func TestFallback(t *testing.T) {
	dir := repositoryAt(t, "a\nb") // overlayfs cannot name it
	s := specOf(dir, "git log >/dev/null; echo x >new; ! git commit -q --allow-empty -m new 2>/dev/null; ! echo x 2>/dev/null >.git/hooks/x")
	var n runs
	res, reports, note, err := Run(t.Context(), s, n.run)
	if err != nil || res.Status != nsjail.StatusOK || len(reports) > 0 || n != 2 || !strings.Contains(note, "git directories are read-only, since no overlay can be made") {
		t.Fatalf("%v, %+v, %+v, %q", err, res, reports, note)
	}
	onHost(t, dir, "test -e new; ! git log --format=%s | grep new; ! test -e .git/hooks/x")
}

func jailOf(t *testing.T, s nsjail.Spec) *nsjail.Cmd {
	c := nsjail.CommandContext(t.Context(), "sh")
	c.Spec = s
	return c
}

// TestManyRepositories: a payload that leaves many repositories stops no later run; those without a copy are read-only,
// and it is told.
func TestManyRepositories(t *testing.T) {
	dir := repositoryAt(t, "r")
	onHost(t, dir, "for i in $(seq 140); do mkdir -p n/$i; cp -r .git n/$i/.git; done")
	s := specOf(dir, "for i in $(seq 140); do echo x 2>/dev/null >n/$i/.git/FETCH_HEAD || echo $i; done | wc -l")
	v := must.Get(Prepare(t.Context(), s))(t)
	notes := v.Notes()
	if len(notes) != 1 || !strings.Contains(notes[0].String(), "and 76 more of 141 git directories: read-only, since a jail has at most 64 copies") {
		t.Errorf("%q", notes)
	}
	out, _, err := jailOf(t, v.Spec).Output()
	if err != nil || string(out) != "77\n" {
		t.Errorf("%q, %v", out, err)
	}
	must.Do(t, v.Close())
	crowd := specOf(dir, "true")
	for i := range spec.MaxMounts - len(crowd.Mounts) - 3 { // the caller's own mounts leave room for three
		crowd.Mounts = append(crowd.Mounts, nsjail.Mount{Type: nsjail.MountDir, Target: "/tmp/" + strconv.Itoa(i)})
	}
	v = must.Get(Prepare(t.Context(), crowd))(t)
	if len(v.views) != 3 || len(v.beyond) != 138 {
		t.Errorf("%d views, and %d without", len(v.views), len(v.beyond))
	}
	must.Get(jailOf(t, v.Spec).Run())(t)
	must.Do(t, v.Close())
}
