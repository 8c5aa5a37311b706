package peers

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"brig/cmd/brig-bench/internal/result"
)

func writeJSON(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}

// runtime is an OCI runtime with runc's command line.
type runtimeTool struct {
	name, program, pkg string
	differs            []string
	global             func(*Host, Job) []string // before the subcommand
}

func crun(h *Host) *Tool {
	return ociTool(h, runtimeTool{name: "crun", program: "crun", pkg: "crun", global: func(h *Host, j Job) []string {
		if j.Limits.none() {
			return []string{"--cgroup-manager=disabled"} // brig makes no control group, either
		}
		return []string{"--cgroup-manager=cgroupfs"}
	}})
}

func runc(h *Host) *Tool {
	return ociTool(h, runtimeTool{name: "runc", program: "runc", pkg: "runc"})
}

func runsc(h *Host) *Tool {
	return ociTool(h, runtimeTool{name: "gVisor runsc", program: "runsc", pkg: "runsc",
		differs: []string{"a kernel of its own in user space: stronger than brig, and what it isolates differently is not comparable",
			"ignores the profile: its own filter confines its kernel"},
		global: func(h *Host, _ Job) []string {
			args := []string{"--network=none", "--platform=ptrace"}
			if !h.Root {
				args = append(args, "--rootless", "--ignore-cgroups")
			}
			return args
		}})
}

func ociTool(h *Host, o runtimeTool) *Tool {
	t := &Tool{Info: result.Tool{Name: o.name, Differs: append([]string{
		"binds where brig overlays: locks and watches of /usr are shared with the host",
		"each writable directory is a tmpfs with limits of its own",
		"no init: the payload is process 1",
	}, o.differs...)}, Kind: Peer, Limits: true, Binds: true}
	if h.Root && o.name != "crun" {
		t.Info.Differs = append(t.Info.Differs, "always makes a control group in each hierarchy; brig makes one for limits")
	}
	if !h.Root {
		t.Info.Differs = append(t.Info.Differs, "the payload is root of its user namespace, with no capability: a caller without subordinate ids can map no more")
	}
	path, ok := installed(t, o.program, o.pkg)
	if !ok {
		return t
	}
	short := strings.Fields(o.name)[len(strings.Fields(o.name))-1]
	state := filepath.Join(h.Dir, short+"-state")
	t.Info.Version = version(h.env(), path, "--root", state, "--version") // crun makes its directory for that, too
	t.prepare = func(j Job) (*Ready, error) {
		bundle, err := h.bundle(short, h.who(), j)
		if err != nil {
			return nil, err
		}
		args := append([]string{path, "--root", state}, o.globalArgs(h, j)...)
		with := func(more ...string) []string { return append(append([]string{}, args...), more...) }
		c := &command{name: h.name(), argv: func(id string) []string { return with("run", "--bundle", bundle, id) }, env: h.env()}
		c.after = func(id string) error { // of a container that it has removed itself it says that there is none
			if _, err := os.Stat(filepath.Join(state, id)); err != nil {
				return nil
			}
			_, err := output(h.env(), with("delete", "--force", id)...)
			return err
		}
		r, err := c.ready()
		if err != nil {
			return nil, errors.Join(err, os.RemoveAll(bundle))
		}
		closeErrors := r.close
		r.close = func() error {
			return errors.Join(closeErrors(), unmount(bundle), os.RemoveAll(bundle))
		}
		return r, nil
	}
	return t
}

func (o runtimeTool) globalArgs(h *Host, j Job) []string {
	if o.global == nil {
		return nil
	}
	return o.global(h, j)
}
