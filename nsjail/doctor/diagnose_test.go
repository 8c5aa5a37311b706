package doctor

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"brig/cgroup"
	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
)

const plainMounts = "22 27 0:21 / /proc rw,relatime - proc proc rw\n27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"

// aMachine is an invented one where everything works; change what a test is about.
func aMachine() *Facts {
	return &Facts{
		Machine: Machine{Release: "6.12.5", Version: "#1 SMP", UID: 1000, Exe: "/usr/local/bin/brig", Env: map[string]string{}, Files: map[string]string{
			"/proc/self/status": "Name:\tbrig\nSeccomp:\t0\n", "/proc/self/uid_map": "0 0 4294967295\n", "/proc/self/mountinfo": plainMounts,
			"/proc/self/attr/current": "unconfined\n", "/proc/meminfo": "MemAvailable: 8000000 kB\n",
			"/proc/sys/kernel/seccomp/actions_avail": "kill_process kill_thread trap errno user_notif trace log allow\n",
			"/proc/sys/user/max_user_namespaces":     "96365\n", "/proc/sys/user/max_mnt_namespaces": "96365\n",
		}},
		Libseccomp: "2.5.4",
		Host:       &host.Host{Machine: host.Machine{Missing: map[string]spec.Text{}}, Caller: host.Caller{UID: 1000, HardLimits: map[string]int64{"nofile": 1048576, "nproc": 96365}}},
		Groups:     Groups{Layout: cgroup.Layout{Mode: cgroup.V2, Group: "/a", Dir: "/sys/fs/cgroup/a", Enabled: []string{"cpu", "io", "memory", "pids"}, Delegated: true}},
		Trials:     Trials{Default: Trial{Tried: true, Millis: 4, Enforced: map[string]spec.Text{"overlay": "private overlays"}}},
	}
}

// fails makes the default jail of the machine fail.
func (f *Facts) fails(op string, errno syscall.Errno, detail string) *Facts {
	f.Default = Trial{Tried: true, Err: &spec.Error{Fault: spec.FaultHost, Op: op, Errno: errno, Detail: words.Plain(detail), Remedy: "the general remedy"}}
	f.Relaxed = f.Default
	return f
}

// tried is a machine on which jails with a network were tried.
func tried(egress, everyPort Trial) *Facts {
	f := aMachine()
	f.Egress, f.EveryPort = egress, everyPort
	return f
}

func (f *Facts) with(path, text string) *Facts { f.Files[path] = text; return f }

// want is what a finding must be; why and fix are parts of the text.
type want struct {
	name     string
	state    State
	why, fix string
}

func TestDiagnose(t *testing.T) {
	docker := func() *Facts {
		return aMachine().fails("clone3", syscall.ENOSYS, "").with("/.dockerenv", "").with("/proc/self/status", "Seccomp:\t2\n").
			with("/proc/self/attr/current", "docker-default (enforce)\n").
			with("/proc/self/mountinfo", "22 27 0:21 / /proc rw - proc proc rw\n27 1 0:9 / / rw - overlay overlay rw\n30 22 0:5 /null /proc/kcore rw - tmpfs tmpfs rw\n")
	}
	tests := []struct {
		name  string
		facts *Facts
		want  []want
	}{
		{"egress", tried(Trial{Tried: true}, Trial{Tried: true}), []want{{"egress", Present, "at every port", ""}}},
		{"configuration that a jail lacks", &Facts{Etc: []string{"X11/rgb.txt", "foo"}}, []want{{"etc", Note, "links to: X11/rgb.txt, foo", "brig run etc: [\"X11/rgb.txt\",\"foo\"]"}}},
		{"egress without nf_tables", tried(Trial{Tried: true}, Trial{Tried: true, Err: errors.New("no")}), []want{{"egress", Partial, "nf_tables", "modprobe"}}},
		{"no egress", tried(Trial{Tried: true, Err: errors.New("refused")}, Trial{}), []want{{"egress", Partial, "refused", ""}}},
		{"all well", aMachine(), []want{{"jail", Present, "in 4 ms", ""}, {"user", Present, "", ""}, {"proc", Present, "", ""},
			{"cgroup", Present, "delegated", ""}, {"outer filter", Present, "", ""}}},
		{"Ubuntu 24.04", aMachine().fails("user", 0, "no user namespace can be made").with("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n"),
			[]want{{"jail", Missing, "no user namespace", "apparmor_parser -r"}, {"user", Missing, "is 1", "/etc/apparmor.d/usr.bin.brig"}, {"lsm", Note, `"unconfined"`, ""}}},
		{"Ubuntu 24.04 with a profile", aMachine().with("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n").with("/proc/self/attr/current", "brig (unconfined)"),
			[]want{{"user", Present, "", ""}}},
		{"Docker's defaults", docker(), []want{{"jail", Missing, "clone3: function not implemented", "docker run --security-opt seccomp=unconfined"},
			{"user", Missing, "Seccomp: 2", "systempaths=unconfined"}, {"user", Missing, "docker-default (enforce)", ""},
			{"proc", Missing, `"/proc/kcore" is mounted over it`, "systempaths=unconfined"}, {"container", Note, "docker", "--security-opt"}, {"outer filter", Partial, "", "docker run"}}},
		{"an image's /.dockerenv on a machine of its own", aMachine().fails("clone3", syscall.ENOSPC, "").with("/.dockerenv", "").
			with("/proc/sys/user/max_user_namespaces", "0"), []want{{"container", Note, "docker", ""}, {"user", Missing, "is 0", "sysctl -w user.max_user_namespaces=15000"}, {"namespaces", Missing, "", "sysctl"}}},
		{"a jail of brig's", func() *Facts {
			f := docker().fails("proc", 0, "/proc is masked").with("/proc/1/comm", "brig-launcher\n")
			delete(f.Files, "/.dockerenv")
			f.Relaxed = Trial{Tried: true, Err: &spec.Error{Op: "clone3", Errno: syscall.ENOSYS}}
			return f
		}(), []want{{"user", Missing, "Seccomp: 2", "seccomp: \"unconfined\""}, {"proc", Missing, "mounted over it", "optional: [\"proc\"]"}, {"container", Note, "brig", "outside"}}},
		{"a jail of brig's without a filter", func() *Facts {
			f := aMachine().fails("proc", 0, "/proc is masked").with("/proc/1/comm", "brig-launcher\n")
			f.Relaxed = Trial{Tried: true}
			return f
		}(), []want{{"user", Present, "", ""}, {"jail", Partial, "", `optional: ["proc",`}}},
		{"Podman with SELinux", aMachine().fails("mount", syscall.EACCES, "").with("/run/.containerenv", "").with("/sys/fs/selinux/enforce", "1"),
			[]want{{"user", Missing, "SELinux", "podman run --security-opt label=disable"}}},
		{"Kubernetes", func() *Facts {
			f := docker()
			f.Env["KUBERNETES_SERVICE_HOST"] = "10.0.0.1"
			return f
		}(), []want{{"jail", Missing, "", "procMount: Unmasked"}, {"proc", Missing, "", "procMount: Unmasked"}, {"container", Note, "kubernetes", "hostUsers: false"}}},
		{"LXC", aMachine().fails("rootfs", syscall.EPERM, "").with("/run/systemd/container", "lxc\n").with("/proc/self/attr/current", "lxc-container (enforce)"),
			[]want{{"user", Missing, "lxc-container", "security.nesting true"}}},
		{"gVisor", func() *Facts {
			f := aMachine().fails("kernel", 0, "too old")
			f.Release, f.Version = "4.4.0", "#1 SMP Sun Jan 10 15:06:54 PST 2016"
			return f
		}(), []want{{"user", Missing, "gVisor", "runc"}, {"kernel", Missing, "older than 5.12", "boot Linux 5.12"}}},
		{"WSL 1", func() *Facts {
			f := aMachine().fails("clone3", syscall.EINVAL, "")
			f.Release = "4.4.0-19041-Microsoft"
			return f
		}(), []want{{"user", Missing, "WSL 1", "wsl --set-version"}}},
		{"Debian's switch", aMachine().fails("user", 0, "").with("/proc/sys/kernel/unprivileged_userns_clone", "0"), []want{{"user", Missing, "", "sysctl -w kernel.unprivileged_userns_clone=1"}}},
		{"a chroot that shows", aMachine().fails("clone3", syscall.EPERM, "").with("/proc/self/mountinfo", "22 27 0:21 / /proc rw - proc proc rw\n"),
			[]want{{"user", Missing, "this is a chroot", "pivot_root"}, {"root", Missing, "chroot", "pivot_root"}}},
		{"a chroot on a mount point", aMachine().fails("clone3", syscall.EPERM, ""), []want{{"user", Missing, "must be a chroot", "pivot_root"}}},
		{"a covered root", aMachine().fails("clone3", syscall.EPERM, "").with("/proc/self/mountinfo", plainMounts+"50 27 254:0 / / rw - ext4 /dev/vda rw\n"),
			[]want{{"user", Missing, "covers", "umount /"}}},
		{"an uid without a mapping", aMachine().fails("clone3", syscall.EPERM, "").with("/proc/sys/kernel/overflowuid", "1000"), []want{{"user", Missing, "not mapped", "unshare"}}},
		{"an initramfs", aMachine().fails("pivot", syscall.EINVAL, "").with("/proc/self/mountinfo", "1 1 0:2 / / rw - rootfs rootfs rw\n22 1 0:21 / /proc rw - proc proc rw\n"),
			[]want{{"root", Missing, "initramfs", "switch_root"}, {"user", Present, "", ""}}},
		{"kernel 5.10", func() *Facts { f := aMachine().fails("kernel", 0, "old"); f.Release = "5.10.0-30-amd64"; return f }(), []want{{"kernel", Missing, "mount_setattr", ""}}},
		{"kernel 5.13", func() *Facts {
			f := aMachine().fails("processes", 0, "old")
			f.Release, f.Relaxed = "5.13.1", Trial{Tried: true}
			return f
		}(), []want{{"jail", Partial, "", "optional: [\"proc\",\"keyring\",\"processes\"]"}, {"kernel", Partial, "5.14", "6.3"}, {"user", Present, "", ""}}},
		{"no overlay", func() *Facts {
			f := aMachine()
			f.Host.Missing["overlay"] = "no overlay; run `modprobe overlay` as root"
			return f
		}(),
			[]want{{"jail", Present, "", ""}, {"overlay", Partial, "locks", "modprobe overlay"}}},
		{"overlay on overlay", func() *Facts {
			f := aMachine()
			f.Host.System = []host.SystemDir{{Name: "bin", Link: "usr/bin"}, {Name: "usr", NoOverlay: "/usr is on an overlay already, and they stack only twice"}}
			return f
		}(), []want{{"overlay", Partial, "overlay already", "volume"}}},
		{"a crash helper", func() *Facts {
			f := aMachine().with("/proc/sys/kernel/core_pattern", "|/x")
			f.Host.HardLimits["core"] = -1
			return f
		}(), []want{{"core", Present, "RLIMIT_CORE is 1", ""}}},
		{"a crash helper and no limit", func() *Facts {
			f := aMachine().with("/proc/sys/kernel/core_pattern", "|/x")
			f.Host.HardLimits["core"] = 0
			return f
		}(), []want{{"core", Partial, "hard limit", "ulimit -Hc 1"}}},
		{"a crash socket", aMachine().with("/proc/sys/kernel/core_pattern", "@/x"), []want{{"core", Partial, "is a socket", "sysctl"}}},
		{"few open files", func() *Facts { f := aMachine(); f.Host.HardLimits["nofile"] = 100; return f }(), []want{{"limits", Missing, "100", "ulimit -Hn"}}},
		{"root without CAP_SYS_ADMIN", func() *Facts {
			f := aMachine()
			f.Host.Drop, f.Host.Missing["idmap"] = true, "CAP_SYS_ADMIN is missing"
			return f
		}(), []want{{"idmap", Partial, "CAP_SYS_ADMIN", "--cap-add"}}},
		{"a file system without idmaps", func() *Facts {
			f := aMachine()
			f.Host.Drop, f.Shared = true, Trial{Tried: true, Err: errors.New("invalid argument")}
			return f
		}(), []want{{"idmap", Partial, "invalid argument", "ext4"}}},
		{"no delegation", func() *Facts {
			f := aMachine()
			f.Groups.Layout = cgroup.Layout{Mode: cgroup.V2, Group: "/", Why: "denied", Denied: map[string]string{"": "denied"}, Systemd: true}
			return f
		}(),
			[]want{{"cgroup", Partial, "not delegated: denied; no limit", "systemd-run --user --scope -p Delegate=yes"}}},
		{"a kernel without zswap", func() *Facts { f := aMachine(); f.Groups.NoFile = []string{"memory_zswap"}; return f }(),
			[]want{{"cgroup", Present, "; not memory_zswap", ""}}},
		{"groups that cannot be read", func() *Facts { f := aMachine(); f.Groups.Err = errors.New("no"); return f }(),
			[]want{{"cgroup", Partial, "cannot be read: no", ""}}},
		{"a group that cannot be made", func() *Facts {
			f := aMachine()
			f.Groups.Err = &cgroup.StepError{Op: "mkdir x", Err: syscall.EROFS, Remedy: "mend it"}
			return f
		}(), []want{{"cgroup", Partial, "mkdir x: read-only file system", "mend it"}}},
		{"no seccomp", func() *Facts {
			f := aMachine().fails("seccomp", syscall.EINVAL, "").with("/proc/self/status", "Name:\tbrig\n")
			delete(f.Files, "/proc/sys/kernel/seccomp/actions_avail")
			return f
		}(), []want{{"seccomp", Missing, "", "CONFIG_SECCOMP_FILTER"}}},
		{"nothing could be read", &Facts{Unread: []string{"/proc"}}, []want{{"jail", Missing, "", ""}, {"reading", Partial, "/proc", ""}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list := Diagnose(tt.facts)
			for _, w := range tt.want {
				holds(t, list, w)
			}
			if Works(list) != tt.facts.Default.Works() {
				t.Errorf("works: %v", Works(list))
			}
			for _, x := range list {
				if x.Name == "" || x.State == "" || x.Why == "" || strings.Contains((x.Why+x.Fix).String(), "\n") {
					t.Errorf("not one line: %+v", x)
				}
				if x.State == Missing && x.Fix == "" && len(tt.facts.Files) > 0 {
					t.Errorf("%s is missing without a fix", x.Name)
				}
			}
		})
	}
}

func holds(t *testing.T, list []Finding, w want) {
	t.Helper()
	for _, x := range list {
		if x.Name != w.name {
			continue
		}
		if x.State != w.state || !strings.Contains(x.Why.String(), w.why) || !strings.Contains(x.Fix.String(), w.fix) || w.fix == "" && w.state != Missing && x.Fix != "" {
			t.Errorf("got %+v, want %+v", x, w)
		}
		return
	}
	t.Errorf("no finding %q", w.name)
}

func TestAppArmorProfile(t *testing.T) {
	got := appArmorProfile(`/opt/a b/*"x`)
	for _, part := range []string{`profile brig "/opt/a b/\*\"x" flags=(unconfined) {`, "  userns,\n"} {
		if !strings.Contains(got, part) {
			t.Errorf("%s lacks %s", got, part)
		}
	}
}
