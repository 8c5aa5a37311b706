package peers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"brig/nsjail"
	"brig/seccomp"
)

// object is a JSON object of the OCI runtime specification, whose names its keys are.
type object = map[string]any

// identity is who a payload is, inside and outside its user namespace.
type identity struct {
	UID            int      // inside
	UIDs, GIDs     []object // the maps; empty for no user namespace
	NoMap, NoLimit bool
}

// single maps the caller to the root of the namespace: all that a caller without subordinate ids may map, and these
// runtimes want a root.
func single(uid, gid int) identity {
	return identity{UIDs: []object{{"containerID": 0, "hostID": uid, "size": 1}}, GIDs: []object{{"containerID": 0, "hostID": gid, "size": 1}}}
}

// strangers map the namespace's root and its user to ids of the host that nobody has.
func strangers() identity {
	ids := []object{{"containerID": 0, "hostID": 64200, "size": 1}, {"containerID": 1000, "hostID": 64201, "size": 1}}
	return identity{UID: 1000, UIDs: ids, GIDs: ids}
}

// who is the identity that a runtime can be given by this caller.
func (h *Host) who() identity {
	if h.Root {
		return strangers()
	}
	return single(os.Geteuid(), os.Getegid())
}

// config is the jail as an OCI runtime reads it. The runtime chooses the control group, by the container's name.
func config(root string, t tree, who identity, j Job) object {
	namespaces := []object{}
	for _, n := range []string{"user", "mount", "pid", "network", "ipc", "uts", "cgroup"} {
		if n == "user" && len(who.UIDs) == 0 {
			continue
		}
		namespaces = append(namespaces, object{"type": n})
	}
	var bounds []object
	for _, r := range append(rlimits[:len(rlimits):len(rlimits)], rlimit{"nproc", nsjail.DefaultProcesses, nsjail.DefaultProcesses}) {
		bounds = append(bounds, object{"type": "RLIMIT_" + strings.ToUpper(r.name), "soft": r.soft, "hard": r.hard})
	}
	none := []string{}
	linux := object{"namespaces": namespaces, "maskedPaths": t.Hidden, "readonlyPaths": t.ReadOnly, "seccomp": filterSection()}
	if len(who.UIDs) > 0 {
		linux["uidMappings"], linux["gidMappings"] = who.UIDs, who.GIDs
	}
	if resources := resources(j.Limits); len(resources) > 0 {
		linux["resources"] = resources
	}
	return object{
		"ociVersion": "1.0.2",
		"process": object{"terminal": false, "user": object{"uid": who.UID, "gid": who.UID}, "args": j.Args, "env": []string{jailPath, jailHome}, "cwd": "/work",
			"noNewPrivileges": true, "rlimits": bounds,
			"capabilities": object{"bounding": none, "effective": none, "inheritable": none, "permitted": none, "ambient": none}},
		"root": object{"path": root, "readonly": true}, "hostname": "brig", "mounts": mounts(t, j.Binds), "linux": linux,
	}
}

// mounts are those of brig's default jail, in order.
func mounts(t tree, binds []Bind) []object {
	all := []object{
		{"destination": "/proc", "type": "proc", "source": "proc", "options": []string{"nosuid", "noexec", "nodev"}},
		{"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": []string{"nosuid", "strictatime", "mode=755", "size=65536k"}},
		{"destination": "/dev/pts", "type": "devpts", "source": "devpts", "options": []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}},
	}
	for _, name := range t.Dirs {
		all = append(all, object{"destination": name, "type": "bind", "source": name, "options": []string{"rbind", "ro", "nosuid", "nodev"}})
	}
	for _, name := range scratch {
		all = append(all, object{"destination": name, "type": "tmpfs", "source": "tmpfs", "options": []string{"nosuid", "nodev", "mode=1777", "size=256m", "nr_inodes=65536"}})
	}
	for _, b := range binds {
		mode := "ro"
		if b.Writable {
			mode = "rw"
		}
		all = append(all, object{"destination": b.Target, "type": "bind", "source": b.Source, "options": []string{"rbind", mode, "nosuid", "nodev"}})
	}
	return all
}

func resources(l Limits) object {
	r := object{}
	if l.Memory > 0 {
		r["memory"] = object{"limit": l.Memory, "swap": l.Memory}
	}
	if l.CPUs > 0 {
		r["cpu"] = object{"quota": int64(l.CPUs * 100000), "period": 100000}
	}
	if l.Processes > 0 {
		r["pids"] = object{"limit": l.Processes}
	}
	return r
}

// architectures are the names of Go's in Docker's profiles.
var architectures = map[string]string{"amd64": "SCMP_ARCH_X86_64", "arm64": "SCMP_ARCH_AARCH64", "riscv64": "SCMP_ARCH_RISCV64", "s390x": "SCMP_ARCH_S390X", "ppc64le": "SCMP_ARCH_PPC64LE"}

// filterSection is brig's default filter as the specification writes it: for the native architecture alone, as brig's.
func filterSection() object {
	p := seccomp.Default()
	var calls []object
	for _, s := range p.Syscalls {
		if !applies(s) {
			continue
		}
		names := slices.DeleteFunc(slices.Clone(s.Names), func(n string) bool { return n == "_llseek" || strings.HasSuffix(n, "_time64") })
		c := object{"names": names, "action": s.Action}
		if s.ErrnoRet != nil {
			c["errnoRet"] = *s.ErrnoRet
		}
		var args []object
		for _, a := range s.Args {
			args = append(args, object{"index": a.Index, "value": a.Value, "valueTwo": a.ValueTwo, "op": a.Op})
		}
		if len(args) > 0 {
			c["args"] = args
		}
		calls = append(calls, c)
	}
	section := object{"defaultAction": p.DefaultAction, "architectures": []string{architectures[runtime.GOARCH]}, "syscalls": calls}
	if p.DefaultErrnoRet != nil {
		section["defaultErrnoRet"] = *p.DefaultErrnoRet
	}
	return section
}

// applies says whether an entry is for this architecture and for a payload without capabilities.
func applies(s seccomp.Syscall) bool {
	if in := s.Includes; in != nil && (len(in.Caps) > 0 || len(in.Arches) > 0 && !slices.Contains(in.Arches, runtime.GOARCH)) {
		return false
	}
	return s.Excludes == nil || !slices.Contains(s.Excludes.Arches, runtime.GOARCH)
}

// bundle writes the bundle of a job: a root that no other job has, and config.json.
func (h *Host) bundle(tool string, who identity, j Job) (string, error) {
	dir, err := os.MkdirTemp(h.Dir, tool+"-")
	if err != nil {
		return "", err
	}
	root := filepath.Join(dir, "rootfs")
	err = errors.Join(os.Chmod(dir, 0o755), h.tree.write(root), targets(root, j.Binds))
	if err == nil {
		err = writeJSON(filepath.Join(dir, "config.json"), config(root, h.tree, who, j))
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("%s: bundle: %w", tool, err), os.RemoveAll(dir))
	}
	return dir, nil
}
