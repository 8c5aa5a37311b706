package peers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"brig/cmd/brig-bench/internal/result"
	"brig/nsjail"
	"brig/seccomp"
)

// profile is a file with brig's default filter as Docker writes filters.
func (h *Host) profile() (string, error) {
	name := filepath.Join(h.Dir, "filter.json")
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	return name, writeJSON(name, seccomp.Default())
}

// engineArgs are the words that podman and docker share, from "run" to the image.
func engineArgs(id, cgroup, profile string, t tree, j Job) []string {
	args := []string{"run", "--rm", "--name", id, "--network", "none", "--read-only", "--cap-drop", "ALL",
		"--security-opt", "no-new-privileges", "--security-opt", "seccomp=" + profile, "--log-driver", "none", "--ipc", "private", "--cgroupns", "private",
		"--hostname", "brig", "--workdir", "/work", "--env", jailPath, "--env", jailHome, "--interactive"}
	for _, r := range rlimits {
		args = append(args, "--ulimit", fmt.Sprintf("%s=%d:%d", r.name, r.soft, r.hard))
	}
	if cgroup != "" {
		args = append(args, "--cgroup-parent", cgroup)
	}
	for _, dir := range scratch[1:] {
		args = append(args, "--tmpfs", dir+":rw,nosuid,nodev,size=256m,mode=1777")
	}
	for _, name := range t.Dirs {
		args = append(args, "--volume", name+":"+name+":ro")
	}
	for _, b := range j.Binds {
		mode := "ro"
		if b.Writable {
			mode = "rw"
		}
		args = append(args, "--volume", b.Source+":"+b.Target+":"+mode)
	}
	return append(args, j.Limits.flags()...)
}

func podman(h *Host) *Tool {
	t := &Tool{Info: result.Tool{Name: "podman", Differs: []string{
		"binds where brig overlays: locks and watches of /usr are shared with the host",
		"a container that is kept in a store and watched by conmon; always in a control group where it may make one",
		"no init: the payload is process 1",
	}}, Kind: Peer, Limits: true, Binds: true}
	path, ok := installed(t, "podman", "podman")
	if !ok {
		return t
	}
	t.Info.Version = version(h.env(), path, "--version")
	dir := filepath.Join(h.Dir, "p") // podman wants a path of at most 50 bytes
	global := func(more ...string) []string {
		args := []string{path, "--root", filepath.Join(dir, "s"), "--runroot", filepath.Join(dir, "r"), "--tmpdir", filepath.Join(dir, "t"),
			"--cgroup-manager", "cgroupfs", "--events-backend", "none", "--storage-driver", "vfs"}
		if runc, err := lookPath("runc"); err == nil {
			args = append(args, "--runtime", runc)
		}
		return append(args, more...)
	}
	t.close = func() error { // an ordinary user's podman keeps a process that holds its user namespace
		if h.Root || !isDir(dir) {
			return nil
		}
		_, err := output(h.env(), global("system", "migrate")...)
		return err
	}
	t.prepare = func(j Job) (*Ready, error) {
		profile, err := h.profile()
		if err != nil {
			return nil, err
		}
		bundle, err := h.bundle("podman", identity{}, j) // for its root
		if err != nil {
			return nil, err
		}
		// its root cannot make the file that podman mounts over
		if err := os.WriteFile(filepath.Join(bundle, "rootfs/run/.containerenv"), nil, 0o644); err != nil {
			return nil, errors.Join(err, os.RemoveAll(bundle))
		}
		c := &command{name: h.name(), env: h.env(), argv: func(id string) []string {
			return append(append(global(engineArgs(id, h.parent(), profile, h.tree, j)...), h.podmanUser()...), append([]string{"--rootfs", filepath.Join(bundle, "rootfs")}, j.Args...)...)
		}}
		c.after = func(id string) error {
			_, err := output(h.env(), global("rm", "--force", "--ignore", "--time", "0", id)...)
			return err
		}
		r, err := c.ready()
		if err != nil {
			return nil, err
		}
		closeErrors := r.close
		r.close = func() error {
			return errors.Join(closeErrors(), settle(dir), unmount(bundle), os.RemoveAll(bundle))
		}
		return r, nil
	}
	return t
}

// parent is the control group to make a container's below; "" for a caller who may not.
func (h *Host) parent() string {
	if h.Root {
		return "/" + h.name()
	}
	return ""
}

// podmanUser says who the payload is.
func (h *Host) podmanUser() (args []string) {
	w := h.who()
	if h.Root {
		for flag, ids := range map[string][]object{"--uidmap": w.UIDs, "--gidmap": w.GIDs} {
			for _, m := range ids {
				args = append(args, flag, fmt.Sprintf("%v:%v:%v", m["containerID"], m["hostID"], m["size"]))
			}
		}
	}
	// podman would raise it to its own default otherwise, which takes CAP_SYS_RESOURCE
	args = append(args, "--ulimit", fmt.Sprintf("nproc=%d:%d", nsjail.DefaultProcesses, nsjail.DefaultProcesses))
	return append(args, "--no-hosts", "--read-only-tmpfs=false", "--user", fmt.Sprintf("%d:%d", w.UID, w.UID))
}
