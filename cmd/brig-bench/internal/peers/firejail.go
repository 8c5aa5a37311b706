package peers

import (
	"path/filepath"
	"slices"
	"strings"

	"brig/cmd/brig-bench/internal/result"
	"brig/seccomp"
)

func firejail(h *Host) *Tool {
	t := &Tool{Info: result.Tool{Name: "firejail", Differs: []string{
		"setuid root; its root is the host's, read-only, with /home and /root hidden and everything else shown",
		"its filter knows names and no arguments: brig's rules on flags, socket families and process 1 are missing",
		"no /work and /output, and the limits of brig's tmpfs are missing",
	}}, Kind: Peer}
	if h.Root {
		t.Info.Differs = append(t.Info.Differs, "called by root it makes no user namespace: the payload is the host's root, without capabilities")
	}
	path, ok := installed(t, "firejail", "firejail")
	if !ok {
		return t
	}
	t.Info.Version = version(h.env(), path, "--version")
	t.prepare = func(j Job) (*Ready, error) {
		known, err := output(h.env(), path, "--debug-syscalls")
		if err != nil {
			return nil, err
		}
		home := filepath.Join(h.Dir, "firejail")
		if err := h.tree.write(home); err != nil && !isDir(home) {
			return nil, err
		}
		args := firejailArgs(path, home, h.Root, allowed(known), j)
		c := &command{argv: func(string) []string { return args }, env: []string{jailPath, "HOME=" + h.Dir}}
		return c.ready()
	}
	return t
}

// firejailArgs is a jail as near to brig's as firejail's words go.
func firejailArgs(firejail, home string, root bool, calls []string, j Job) []string {
	args := []string{firejail, "--quiet", "--noprofile", "--net=none", "--ipc-namespace", "--hostname=brig", "--caps.drop=all", "--nonewprivs",
		"--nogroups", "--read-only=/", "--private=" + home, "--private-cwd=/tmp", "--private-dev", "--private-tmp", "--blacklist=/home", "--blacklist=/root",
		"--private-etc=group,passwd,hosts,hostname,nsswitch.conf,services,protocols,ld.so.cache,alternatives,ssl", "--seccomp.keep=" + strings.Join(calls, ",")}
	if !root {
		args = append(args, "--noroot")
	}
	return append(append(args, "--"), j.Args...)
}

// allowed are the system calls that brig's default filter allows, whatever their arguments, and that a tool knows.
func allowed(known string) (names []string) {
	words := map[string]bool{}
	for _, w := range strings.Fields(known) {
		words[w] = true
	}
	for _, s := range seccomp.Default().Syscalls {
		if s.Action != "SCMP_ACT_ALLOW" || !applies(s) {
			continue
		}
		for _, n := range s.Names {
			if words[n] && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}
