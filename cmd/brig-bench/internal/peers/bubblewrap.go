package peers

import (
	"brig/cmd/brig-bench/internal/result"
)

func bubblewrap(same bool) func(*Host) *Tool {
	return func(h *Host) *Tool {
		t := &Tool{Info: result.Tool{Name: "bubblewrap", Differs: []string{
			"binds where brig overlays: locks and watches of /usr are shared with the host",
			"leaves the caller's session keyring to the payload",
		}}, Kind: Peer, Binds: true}
		if same {
			t.Info.Differs = append(t.Info.Differs, "gets an /etc that was written beforehand, where brig writes one for each jail")
		} else {
			t.Info.Name += ", fewer mounts"
			t.Info.Differs = append(t.Info.Differs, "masks nothing of /proc and has no files of /etc but ld.so.cache")
		}
		if h.Root {
			t.Info.Differs = append(t.Info.Differs, "called by root, its payload is the host's root outside its user namespace")
		}
		path, ok := installed(t, "bwrap", "bubblewrap")
		if !ok {
			return t
		}
		t.Info.Version = version(h.env(), path, "--version")
		t.prepare = func(j Job) (*Ready, error) {
			root, err := h.rootfs()
			if err != nil {
				return nil, err
			}
			filter, err := h.filter()
			if err != nil {
				return nil, err
			}
			c := &command{argv: func(string) []string { return bubblewrapArgs(path, root, h.tree, same, j) }, env: h.env(), files: []string{filter}}
			return c.ready()
		}
		return t
	}
}

// bubblewrapArgs is a command line for the same directories as brig's jail has, or for all that it has. The filter is
// descriptor 3. Its own init (pid 1) is on by default, like brig's. /etc is a directory that was written beforehand: the
// files as mounts of their own, or as --file, take bubblewrap longer.
func bubblewrapArgs(bwrap, root string, t tree, same bool, j Job) []string {
	args := []string{bwrap, "--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000", "--hostname", "brig",
		"--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv", "--setenv", "PATH", jailPath[len("PATH="):],
		"--setenv", "HOME", jailHome[len("HOME="):]}
	if same {
		args = append(args, "--ro-bind", root+"/etc", "/etc")
	} else {
		args = append(args, "--ro-bind", root+"/etc/ld.so.cache", "/etc/ld.so.cache")
	}
	for _, name := range t.Dirs {
		args = append(args, "--ro-bind", name, name)
	}
	for _, l := range t.Links {
		args = append(args, "--symlink", l[1], l[0])
	}
	args = append(args, "--proc", "/proc", "--dev", "/dev")
	for _, dir := range scratch {
		args = append(args, "--tmpfs", dir)
	}
	if same {
		args = append(args, bubblewrapMasks(t)...)
	}
	for _, b := range j.Binds {
		flag := "--ro-bind"
		if b.Writable {
			flag = "--bind"
		}
		args = append(args, flag, b.Source, b.Target)
	}
	return append(append(args, "--remount-ro", "/", "--chdir", "/work", "--seccomp", "3", "--"), j.Args...)
}

func bubblewrapMasks(t tree) (args []string) {
	for _, name := range t.Hidden {
		if t.HiddenDirs[name] {
			args = append(args, "--tmpfs", name, "--remount-ro", name)
		} else {
			args = append(args, "--ro-bind", "/dev/null", name)
		}
	}
	for _, name := range t.ReadOnly {
		args = append(args, "--ro-bind", name, name)
	}
	return args
}
