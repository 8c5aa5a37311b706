package nsjail

import (
	"slices"
	"strings"
	"testing"

	"brig/nsjail/spec"
)

// A tmpfs that is full when the payload ends is said to be, by the places that lie in it; one that has been, or that
// only a file's size bounds, is not.
func TestFullDisksAreReported(t *testing.T) {
	scratch := []string{"/dev/shm", "/tmp", "/work", "/output", "/home/brig"}
	for _, test := range []struct {
		name, script string
		mounts       []spec.Mount
		full         []string
		used         int64 // at least
	}{
		{"nothing", "true", nil, nil, 0},
		{"the scratch", "head -c 300000000 /dev/zero >/work/f", nil, scratch, 255 << 20},
		{"emptied again", "head -c 300000000 /dev/zero >/work/f; rm /work/f", nil, nil, 0},
		{"files, removed", "for i in 1 2 3 4 5 6 7 8 9; do echo >/t/$i; done; sleep 0.1; rm -f /t/*",
			[]spec.Mount{{Type: spec.MountTmpfs, Target: "/t", Inodes: 5}}, nil, 0},
		{"a mount of its own", "head -c 2000000 /dev/zero >/t/f", []spec.Mount{{Type: spec.MountTmpfs, Target: "/t", Size: 1 << 20}}, []string{"/t"}, 1 << 20},
		{"over /tmp", "head -c 2000000 /dev/zero >/tmp/f", []spec.Mount{{Type: spec.MountTmpfs, Target: "/tmp", Size: 1 << 20}}, []string{"/tmp"}, 1 << 20},
		{"files", "for i in 1 2 3 4 5 6 7 8 9; do touch /t/$i; done", []spec.Mount{{Type: spec.MountTmpfs, Target: "/t", Inodes: 5}}, []string{"/t"}, 0},
		{"two of three", "head -c 9999 /dev/zero >/a/f; head -c 99999 /dev/zero >/c/f; : >/b/f",
			[]spec.Mount{{Type: spec.MountTmpfs, Target: "/a", Size: 8192}, {Type: spec.MountTmpfs, Target: "/b", Size: 8192}, {Type: spec.MountTmpfs, Target: "/c", Size: 65536}},
			[]string{"/a", "/c"}, 65536 + 8192},
		{"small and empty", "true", []spec.Mount{{Type: spec.MountTmpfs, Target: "/a", Size: 4096}}, nil, 0},
		{"some", "head -c 3000000 /dev/zero >/tmp/f", nil, nil, 3000000},
		{"by a child that is killed", "(head -c 9999 /dev/zero >/a/f; sleep 1000) & while ! test -s /a/f; do sleep 0.01; done; sleep 0.1",
			[]spec.Mount{{Type: spec.MountTmpfs, Target: "/a", Size: 8192}}, []string{"/a"}, 8192},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := shell("{ " + test.script + "; } 2>/dev/null; exit 7")
			c.Spec.Mounts = test.mounts
			_, r := mustRun(t, c)
			if !slices.Equal(c.facts.disks.full, test.full) || int64(r.Usage.Disk) < test.used || r.ExitCode != 7 {
				t.Errorf("full %q, %d bytes, want %q and %d; %+v", c.facts.disks.full, r.Usage.Disk, test.full, test.used, r)
			}
			met := test.full != nil || strings.Contains(test.script, "; rm ")
			if met != (r.Status == StatusDisk) {
				t.Errorf("%+v", r)
			}
		})
	}
	c := shell("true")
	c.Spec.NoInit = true
	if _, r := mustRun(t, c); r.Usage.Disk >= 0 || c.facts.disks.full != nil {
		t.Errorf("without init: %d bytes, full %q", r.Usage.Disk, c.facts.disks.full)
	}
}

// A writable root lies in the same tmpfs as the scratch directories.
func TestFullRootIsReported(t *testing.T) {
	c := shell("cat /dev/zero >/big 2>/dev/null; exit 7")
	c.Spec.Rootfs = spec.Rootfs{Path: "/", Writable: true, Size: 1 << 20}
	_, r, err := c.CombinedOutput()
	if err != nil {
		t.Skip("this host's root cannot be an image: ", err)
	}
	if !slices.Contains(c.facts.disks.full, "/") || !slices.Contains(c.facts.disks.full, "/work") || r.Usage.Disk < 1<<19 {
		t.Errorf("full %q, %d bytes", c.facts.disks.full, r.Usage.Disk)
	}
}

// More mounts than init keeps are left out, and the jail is none the worse for it.
func TestManyDisks(t *testing.T) {
	c := shell("head -c 9999 /dev/zero >/m/a/f; head -c 9999 /dev/zero >/m/l/f; ls /proc/self/fd | wc -l")
	for _, name := range strings.Split("abcdefghijkl", "") {
		c.Spec.Mounts = append(c.Spec.Mounts, spec.Mount{Type: spec.MountTmpfs, Target: "/m/" + name, Size: 8192})
	}
	out, _ := mustRun(t, c)
	if !slices.Equal(c.facts.disks.full, []string{"/m/a"}) || !strings.HasSuffix(out, "\n4\n") {
		t.Errorf("full %q, output %q", c.facts.disks.full, out)
	}
}
