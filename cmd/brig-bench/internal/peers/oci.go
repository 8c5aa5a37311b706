package peers

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"brig/nsjail/spec"
	"brig/seccomp"
)

// object is a JSON object of the OCI runtime specification.
type object = map[string]any

// stranger is the host's uid and gid of a payload of root's: one that no account has.
const stranger = 64201

// identity is who a payload is: its uid inside, and the maps of its user namespace.
type identity struct {
	UID        int
	UIDs, GIDs []object
}

// identify maps the payload of root's to ids of the host that no account has. A caller without subordinate ids may map
// only itself, to the root that these runtimes want.
func identify(root bool, uid, gid int) identity {
	idMap := func(inside, outside int) object {
		return object{"containerID": inside, "hostID": outside, "size": 1}
	}
	if root {
		ids := []object{idMap(0, stranger-1), idMap(1000, stranger)}
		return identity{1000, ids, ids}
	}
	return identity{0, []object{idMap(0, uid)}, []object{idMap(0, gid)}}
}

// config returns the jail as an OCI runtime reads it. The runtime chooses the control group, by the container's name.
func config(root string, t tree, who identity, j Job) object {
	var namespaces []object
	for _, n := range []string{"user", "mount", "pid", "network", "ipc", "uts", "cgroup"} {
		namespaces = append(namespaces, object{"type": n})
	}
	var bounds []object
	for _, r := range slices.Concat(rlimits, []rlimit{{"nproc", spec.DefaultProcesses, spec.DefaultProcesses}}) {
		bounds = append(bounds, object{"type": "RLIMIT_" + strings.ToUpper(r.name), "soft": r.soft, "hard": r.hard})
	}
	capabilities := object{}
	for _, set := range []string{"bounding", "effective", "inheritable", "permitted", "ambient"} {
		capabilities[set] = []string{}
	}
	linux := object{"namespaces": namespaces, "maskedPaths": slices.Concat(t.HiddenDirs, t.Hidden),
		"readonlyPaths": t.ReadOnly, "seccomp": filterSection(), "uidMappings": who.UIDs, "gidMappings": who.GIDs}
	if j.Limited {
		linux["resources"] = object{"memory": object{"limit": limitMemory, "swap": limitMemory},
			"cpu": object{"quota": limitCPUs * 100000, "period": 100000}, "pids": object{"limit": limitProcesses}}
	}
	return object{
		"ociVersion": "1.0.2",
		"process": object{"terminal": false, "user": object{"uid": who.UID, "gid": who.UID}, "args": j.Args,
			"env": []string{"PATH=" + spec.DefaultPath, "HOME=" + spec.DefaultHome}, "cwd": "/work",
			"noNewPrivileges": true, "rlimits": bounds, "capabilities": capabilities},
		"root": object{"path": root, "readonly": true}, "hostname": "brig", "mounts": mounts(t, j), "linux": linux,
	}
}

// mounts returns those of brig's default jail, in order.
func mounts(t tree, j Job) (all []object) {
	add := func(target, kind, source, options string) {
		all = append(all, object{"destination": target, "type": kind, "source": source,
			"options": strings.Split(options, ",")})
	}
	add("/proc", "proc", "proc", "nosuid,noexec,nodev")
	add("/dev", "tmpfs", "tmpfs", "nosuid,strictatime,mode=755,size=65536k")
	add("/dev/pts", "devpts", "devpts", "nosuid,noexec,newinstance,ptmxmode=0666,mode=0620")
	for _, name := range t.Dirs {
		add(name, "bind", name, "rbind,ro,nosuid,nodev")
	}
	for _, name := range j.scratch() {
		add(name, "tmpfs", "tmpfs", "nosuid,nodev,mode=1777,size=256m,nr_inodes=65536")
	}
	if j.Show != "" {
		add(Target, "bind", j.Show, "rbind,ro,nosuid,nodev")
	}
	if j.Dir != "" {
		for _, name := range jobDirs {
			mode := map[bool]string{true: "ro", false: "rw"}[name == "input"]
			add("/"+name, "bind", filepath.Join(j.Dir, name), "rbind,nosuid,nodev,"+mode)
		}
	}
	return all
}

// filterSection returns brig's default filter in the form of the OCI specification. Without a list of architectures it
// is for the native one alone, as brig's.
func filterSection() *seccomp.Profile {
	p := seccomp.Default()
	p.ArchMap = nil
	p.Syscalls = slices.DeleteFunc(p.Syscalls, func(s seccomp.Syscall) bool { return !applies(s) })
	for i := range p.Syscalls {
		s := &p.Syscalls[i]
		s.Includes, s.Excludes = nil, nil
		s.Names = slices.DeleteFunc(s.Names, func(n string) bool { return n == "_llseek" || strings.HasSuffix(n, "_time64") })
	}
	return p
}

// applies reports whether an entry is for this architecture and for a payload without capabilities.
func applies(s seccomp.Syscall) bool {
	in := s.Includes
	if in != nil && (len(in.Caps) > 0 || len(in.Arches) > 0 && !slices.Contains(in.Arches, runtime.GOARCH)) {
		return false
	}
	return s.Excludes == nil || !slices.Contains(s.Excludes.Arches, runtime.GOARCH)
}

// allowed lists the system calls that brig's default filter allows, whatever their arguments, and that firejail knows.
func (h *Host) allowed(firejail string) (string, error) {
	known, err := output(h.env(), firejail, "--debug-syscalls")
	return strings.Join(allowedAmong(known), ","), err
}

// allowedAmong lists those of the system calls in known that the filter allows.
func allowedAmong(known string) (names []string) {
	words := strings.Fields(known)
	for _, s := range seccomp.Default().Syscalls {
		for _, n := range s.Names {
			if s.Action == "SCMP_ACT_ALLOW" && applies(s) && slices.Contains(words, n) && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}

// bundle writes the bundle of a job: a root that no other job has, and config.json.
func (h *Host) bundle(tool string, j Job) (string, error) {
	dir, err := os.MkdirTemp(h.Dir, tool+"-")
	if err != nil {
		return "", err
	}
	who := identify(h.Root, os.Geteuid(), os.Getegid())
	root := filepath.Join(dir, "rootfs")
	err = errors.Join(os.Chmod(dir, 0o755), h.tree.write(root))
	if j.Show != "" { // a mount point
		err = errors.Join(err, os.WriteFile(filepath.Join(root, Target), nil, 0o644))
	}
	err = errors.Join(err, writeJSON(filepath.Join(dir, "config.json"), config(root, h.tree, who, j)))
	if err != nil {
		return "", errors.Join(fmt.Errorf("%s: bundle: %w", tool, err), os.RemoveAll(dir))
	}
	return dir, nil
}

// rootfs returns the path of the directory that tools without a root of their own get, made at the first call.
func (h *Host) rootfs() (string, error) {
	h.once.Do(func() {
		h.root = filepath.Join(h.Dir, "rootfs")
		h.err = h.tree.write(h.root)
	})
	return h.root, h.err
}

// dockerBPF is Docker's default filter as libseccomp compiles it on x86-64; a test of package seccomp writes it.
//
//go:embed docker_amd64.bpf
var dockerBPF []byte

// filter writes a file with Docker's filter as compiled BPF.
func (h *Host) filter() (string, error) {
	if runtime.GOARCH != "amd64" {
		return "", errors.New("the filter of Docker was compiled for x86-64 alone")
	}
	name := filepath.Join(h.Dir, "filter.bpf")
	return name, os.WriteFile(name, dockerBPF, 0o644)
}

// profile writes a file with brig's default filter in Docker's format.
func (h *Host) profile() (string, error) {
	name := filepath.Join(h.Dir, "filter.json")
	return name, writeJSON(name, seccomp.Default())
}

func writeJSON(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}
