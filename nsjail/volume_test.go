package nsjail

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

func volumeSpec(v *Volume, args ...string) spec.Spec {
	return spec.Spec{Args: args, Mounts: []spec.Mount{
		{Type: spec.MountVolume, Source: v.ID() + "/input", Target: "/input"},
		{Type: spec.MountVolume, Source: v.ID() + "/work", Target: "/work", Writable: true},
	}}
}

func runSpec(t *testing.T, r *Runner, s spec.Spec) (string, *Result) {
	t.Helper()
	c := r.CommandSpec(context.Background(), s)
	out, res, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v", s.Args, err)
	}
	return string(out), res
}

func newVolume(t *testing.T, r *Runner, o VolumeOptions) *Volume {
	t.Helper()
	return must.Get(r.NewVolume(o))(t)
}

func writeIn(t *testing.T, v *Volume, path, text string) {
	t.Helper()
	fd, err := unix.Openat(int(v.Root().Fd()), path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
	if err != nil {
		t.Fatal(path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(path, err)
	}
}

func readIn(t *testing.T, v *Volume, path string) string {
	t.Helper()
	fd, err := unix.Openat(int(v.Root().Fd()), path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(path, err)
	}
	return string(b)
}

// What one run leaves in a volume the next one finds, warm, cold and with an image as root, and the host reads it.
func TestVolumeOutlivesARun(t *testing.T) {
	for name, o := range map[string]RunnerOptions{"plain": {}, "pool": {Pool: 2}} {
		t.Run(name, func(t *testing.T) {
			r := runnerWith(t, o)
			v := newVolume(t, r, VolumeOptions{Dirs: []string{"input", "work"}})
			writeIn(t, v, "input/in", "given\n")
			cold := volumeSpec(v, "/bin/sh", "-c", "cat /work/a; echo cold >/work/b")
			cold.Net = spec.NetHost
			cold.Optional = []string{"net"}
			runSpec(t, r, volumeSpec(v, "/bin/sh", "-c", "cat /input/in >/work/a; echo 'main() {}' >/work/x; chmod 755 /work/x"))
			if out, res := runSpec(t, r, cold); out != "given\n" || res.Status != StatusOK {
				t.Errorf("the next run found %q (%s)", out, res.Status)
			}
			if got := readIn(t, v, "work/b"); got != "cold\n" {
				t.Errorf("the host finds %q", got)
			}
			if out, _ := runSpec(t, r, volumeSpec(v, "/bin/sh", "-c", "stat -c %u:%g /work/a /input; id -u")); out != "1000:1000\n1000:1000\n1000\n" {
				t.Errorf("the files belong to %q", out)
			}
			if err := v.Close(); err != nil {
				t.Error(err)
			}
			if _, err := r.CommandSpec(context.Background(), volumeSpec(v, "true")).Run(); err == nil || !strings.Contains(err.Error(), "NewVolume") {
				t.Errorf("a closed volume: %v", err)
			}
		})
	}
}

// The kernel holds the quota over all runs, and /input is not to be written to whatever it holds.
func TestVolumeQuota(t *testing.T) {
	r := runnerWith(t, RunnerOptions{})
	v := newVolume(t, r, VolumeOptions{Size: 1 << 20, Inodes: 20, Dirs: []string{"input", "work"}})
	for range 2 {
		out, _ := runSpec(t, r, volumeSpec(v, "/bin/sh", "-c", "head -c 700000 /dev/zero >/work/f$$$(cat /proc/sys/kernel/random/uuid) || echo full"))
		if !strings.Contains(out, "full") && strings.Contains(out, "left") {
			t.Error(out)
		}
	}
	var st unix.Statfs_t
	must.Do(t, unix.Fstatfs(int(v.Root().Fd()), &st))
	if total := int64(st.Blocks) * st.Bsize; total != 1<<20 {
		t.Errorf("it may hold %d bytes", total)
	}
	if st.Bfree > 8 {
		t.Errorf("%d blocks are free after 1.4 MB", st.Bfree)
	}
	out, _ := runSpec(t, r, volumeSpec(v, "/bin/sh", "-c", "rm /work/*; for i in $(seq 30); do : >/work/n$i || exit; done 2>&1; touch /input/x"))
	if !strings.Contains(out, "No space left") {
		t.Errorf("30 of 20 files: %s", out)
	}
	if out, _ := runSpec(t, r, volumeSpec(v, "/bin/sh", "-c", "rm -f /work/*; touch /input/x; echo y >/input/../input/x; chmod 777 /input; mkdir /input/d")); strings.Count(out, "Read-only file system") != 4 {
		t.Errorf("/input: %s", out)
	}
}

// A volume is nothing that another Runner, or a closed one, can reach, and it leaves no mount on the host.
func TestVolumeIsItsRunners(t *testing.T) {
	before := must.Get(os.ReadFile("/proc/self/mountinfo"))(t)
	r, other := runnerWith(t, RunnerOptions{}), runnerWith(t, RunnerOptions{})
	v := newVolume(t, r, VolumeOptions{Dirs: []string{"input", "work"}})
	var e *spec.Error
	if _, err := other.CommandSpec(context.Background(), volumeSpec(v, "true")).Run(); !errors.As(err, &e) || e.Fault != spec.FaultCaller {
		t.Errorf("another Runner: %v", err)
	}
	if after, _ := os.ReadFile("/proc/self/mountinfo"); string(after) != string(before) {
		t.Errorf("the host's mounts changed:\n%s", after)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := v.Close(); err != nil {
		t.Errorf("closing a volume of a closed Runner: %v", err)
	}
	if _, err := r.NewVolume(VolumeOptions{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a volume of a closed Runner: %v", err)
	}
	for _, o := range []VolumeOptions{{Size: -1}, {Inodes: -1}, {Dirs: []string{".."}}, {Dirs: []string{"a/b"}}, {Dirs: []string{""}}} {
		if _, err := other.NewVolume(o); err == nil {
			t.Errorf("%+v was made", o)
		}
	}
}

func TestData(t *testing.T) {
	r := runnerWith(t, RunnerOptions{})
	odd := "a\xff\x00b\n"
	big := strings.Repeat("0123456789abcdef", 4<<16)
	s := spec.Spec{Args: []string{"/bin/sh", "-c", "od -An -c /run/code/odd; stat -c '%a %s' /run/code/odd /run/code/big; echo >/run/code/odd"},
		Mounts: []spec.Mount{{Type: spec.MountData, Target: "/run/code/odd", Content: odd}, {Type: spec.MountData, Target: "/run/code/big", Content: big, Mode: "555"}}}
	out, _ := runSpec(t, r, s)
	if !strings.Contains(out, `a 377  \0   b  \n`) || !strings.Contains(out, "444 5\n555 4194304\n") || !strings.Contains(out, "Read-only") {
		t.Errorf("%s", out)
	}
	s.Mounts[1].Content += "x"
	if _, err := r.CommandSpec(context.Background(), s).Run(); err == nil || !strings.Contains(err.Error(), "content") {
		t.Errorf("4 MiB and one: %v", err)
	}
	many := spec.Spec{Args: []string{"true"}}
	for _, n := range []string{"a", "b", "c", "d"} {
		many.Mounts = append(many.Mounts, spec.Mount{Type: spec.MountData, Target: "/run/" + n, Content: big})
	}
	if _, err := r.CommandSpec(context.Background(), many).Run(); err == nil || !strings.Contains(err.Error(), "together") {
		t.Errorf("16 MiB: %v", err)
	}
}

// A plan has a digest: the same for the same work, another for another, warm and cold.
func TestPlanDigest(t *testing.T) {
	for name, o := range map[string]RunnerOptions{"warm": {}, "cold": {Cold: true}} {
		r := runnerWith(t, o)
		seen := map[string]string{}
		for _, arg := range []string{"a", "b", "a", "b"} {
			c := r.Command("/bin/true", arg)
			c.WantPlanDigest = true
			must.Get(c.Run())(t)
			if len(c.PlanDigest()) != 64 || name == "warm" && seen[arg] != "" && seen[arg] != c.PlanDigest() {
				t.Errorf("%s: %s: %q, was %q", name, arg, c.PlanDigest(), seen[arg])
			}
			seen[arg] = c.PlanDigest()
		}
		if seen["a"] == seen["b"] {
			t.Errorf("%s: two programs with the digest %s", name, seen["a"])
		}
	}
	r := runnerWith(t, RunnerOptions{})
	v := newVolume(t, r, VolumeOptions{Dirs: []string{"input", "work"}})
	ro, rw := volumeSpec(v, "/bin/true"), volumeSpec(v, "/bin/true")
	rw.Mounts[0].Writable = true
	var sums []string
	for _, s := range []spec.Spec{ro, rw} {
		c := r.CommandSpec(context.Background(), s)
		c.WantPlanDigest = true
		must.Get(c.Run())(t)
		sums = append(sums, c.PlanDigest())
	}
	if sums[0] == sums[1] {
		t.Error("a volume to read and one to write have the same digest")
	}
}
