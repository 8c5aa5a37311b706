package cgroup

import (
	"os"
	"strings"
	"testing"
)

const (
	unified = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
	tmpfs   = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
	memory  = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	cpu     = "36 31 0:33 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
	beside  = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name, self, mounts string
		mode               Mode
		group, dir, why    string
		controllers        map[string]string
	}{
		{name: "nothing mounted", self: "0::/\n", mode: None},
		{name: "no control groups at all", mode: None},
		{name: "an empty tmpfs is no hierarchy", self: "0::/\n", mounts: tmpfs, mode: None},
		{name: "systemd user scope", self: "0::/user.slice/user-1000.slice/run-1.scope\n", mounts: unified, mode: V2,
			group: "/user.slice/user-1000.slice/run-1.scope", dir: "/sys/fs/cgroup/user.slice/user-1000.slice/run-1.scope"},
		{name: "own cgroup namespace", self: "0::/\n", mounts: unified, mode: V2, group: "/", dir: "/sys/fs/cgroup"},
		{name: "docker v2 with a read-only mount", self: "0::/\n",
			mounts: strings.Replace(unified, " rw,nosuid", " ro,nosuid", 1), mode: V2, group: "/", dir: "/sys/fs/cgroup",
			why: "/sys/fs/cgroup is mounted read-only"},
		{name: "read-only super block", self: "0::/\n", mounts: strings.Replace(unified, "rw,nsdelegate", "ro", 1), mode: V2,
			group: "/", dir: "/sys/fs/cgroup", why: "/sys/fs/cgroup is mounted read-only"},
		{name: "the mount shows a part of the tree", self: "0::/docker/abc/inner\n",
			mounts: strings.Replace(unified, " / /sys", " /docker/abc /sys", 1), mode: V2, group: "/docker/abc/inner", dir: "/sys/fs/cgroup/inner"},
		{name: "a name that only begins like the root", self: "0::/docker/abcdef\n",
			mounts: strings.Replace(unified, " / /sys", " /docker/abc /sys", 1), mode: V2, group: "/docker/abcdef",
			why: "the own group /docker/abcdef is outside of what is mounted at /sys/fs/cgroup"},
		{name: "moved out of the cgroup namespace", self: "0::/../other\n", mounts: unified, mode: V2, group: "/../other",
			why: "the own group /../other is outside of what is mounted at /sys/fs/cgroup"},
		{name: "the host's mount seen from a cgroup namespace", self: "0::/\n",
			mounts: strings.Replace(unified, " / /sys", " /../.. /sys", 1), mode: V2, group: "/",
			why: "the own group / is outside of what is mounted at /sys/fs/cgroup"},
		{name: "v1", self: "9:cpu,cpuacct:/a\n4:memory:/process/7\n", mounts: tmpfs + memory + cpu, mode: V1,
			controllers: map[string]string{"memory": "/sys/fs/cgroup/memory/process/7", "cpu": "/sys/fs/cgroup/cpu,cpuacct/a", "cpuacct": "/sys/fs/cgroup/cpu,cpuacct/a"}},
		{name: "hybrid", self: "4:memory:/\n0::/\n", mounts: tmpfs + memory + beside, mode: Hybrid, group: "/", dir: "/sys/fs/cgroup/unified",
			controllers: map[string]string{"memory": "/sys/fs/cgroup/memory"}},
		{name: "an unusual mount point with a space", self: "0::/x y\n",
			mounts: strings.Replace(unified, "/sys/fs/cgroup", `/my\040groups`, 1), mode: V2, group: "/x y", dir: "/my groups/x y"},
		{name: "a group name with a colon", self: "0::/a:b\n", mounts: unified, mode: V2, group: "/a:b", dir: "/sys/fs/cgroup/a:b"},
		{name: "broken lines", self: "0\n::\n\x00", mounts: "1 2\n - cgroup2\n3 4 0:1 / /p rw - cgroup2\n", mode: None},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := Parse(tt.self, tt.mounts, "")
			if l.Mode != tt.mode || l.Group != tt.group || l.Dir != tt.dir || l.Why != tt.why {
				t.Errorf("got %+v", l)
			}
			if len(l.Controllers) != len(tt.controllers) {
				t.Errorf("controllers: got %v, want %v", l.Controllers, tt.controllers)
			}
			for c, dir := range tt.controllers {
				if l.Controllers[c] != dir {
					t.Errorf("%s: got %q, want %q", c, l.Controllers[c], dir)
				}
			}
			if l.Delegated {
				t.Error("delegation cannot be known from these texts")
			}
		})
	}
}

func TestString(t *testing.T) {
	tests := []struct {
		l    Layout
		want string
	}{
		{Layout{Mode: None}, "no control group is mounted"},
		{Layout{Mode: V2, Group: "/a", Enabled: []string{"memory", "pids"}, Delegated: true}, "v2, group /a, version 2 controllers memory pids, delegated"},
		{Layout{Mode: V2, Group: "/\x1b[31m", Why: "x"}, `v2, group "/\x1b[31m", not delegated: x`},
	}
	for _, tt := range tests {
		if got := tt.l.String(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

// TestDetect compares the layout with other files of this machine.
func TestDetect(t *testing.T) {
	l, err := Detect("")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Skip("this kernel has no control groups")
	}
	if l.Mode == None {
		return
	}
	if _, v2 := groups(string(self))[""]; v2 && (l.Mode == V2 || l.Mode == Hybrid) && l.Dir != "" {
		b, err := os.ReadFile(l.Dir + "/cgroup.controllers")
		if err != nil || strings.Join(l.Enabled, " ") != strings.TrimSpace(string(b)) {
			t.Errorf("controllers %v, the file says %q (%v)", l.Enabled, b, err)
		}
	}
	if l.Delegated == (l.Why != "") {
		t.Errorf("delegated %v, but why is %q", l.Delegated, l.Why)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("0::/../x\n4:memory:/\n", unified+memory)
	f.Add("0::/a\\b\n", strings.Replace(unified, "/sys", `/\04`, 1))
	f.Fuzz(func(t *testing.T, self, mounts string) {
		l := Parse(self, mounts, "")
		if strings.ContainsAny(l.String(), "\x00\x1b\n") {
			t.Errorf("unsafe to print: %q", l.String())
		}
	})
}
