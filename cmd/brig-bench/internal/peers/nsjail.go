package peers

import (
	"fmt"
	"os"

	"brig/cmd/brig-bench/internal/result"
)

func googleNsjail(h *Host) *Tool {
	t := &Tool{Info: result.Tool{Name: "nsjail", Differs: []string{
		"no system-call filter: it takes Kafel, not compiled BPF",
		"masks nothing of /proc, and has no files of /etc",
		"binds where brig overlays: locks and watches of /usr are shared with the host",
		"no init: the payload is process 1",
	}}, Kind: Peer, Binds: true}
	path, ok := installed(t, "nsjail", "")
	if !ok {
		return t
	}
	t.prepare = func(j Job) (*Ready, error) {
		args := nsjailArgs(path, os.Geteuid(), os.Getegid(), h.tree, j)
		if h.Root {
			args = nsjailArgs(path, 64201, 64201, h.tree, j)
		}
		c := &command{argv: func(string) []string { return args }, env: h.env()}
		return c.ready()
	}
	return t
}

// nsjailArgs is a command line for the same directories; the payload is uid and gid of the host.
func nsjailArgs(nsjail string, uid, gid int, t tree, j Job) []string {
	args := []string{nsjail, "--mode", "o", "--really_quiet", "--time_limit", "0", "--user", fmt.Sprintf("1000:%d:1", uid), "--group", fmt.Sprintf("1000:%d:1", gid),
		"--hostname", "brig", "--cwd", "/work", "--env", jailPath, "--env", jailHome, "--rlimit_as", "hard", "--rlimit_fsize", "hard",
		"--rlimit_nofile", "768", "--rlimit_core", "0", "--rlimit_stack", "8", "--nice_level", "0"}
	for _, name := range t.Dirs {
		args = append(args, "--bindmount_ro", name)
	}
	for _, l := range t.Links {
		args = append(args, "--symlink", l[1]+":"+l[0])
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		args = append(args, "--bindmount", "/dev/"+name)
	}
	for _, name := range scratch {
		args = append(args, "--mount", "none:"+name+":tmpfs:size=268435456")
	}
	for _, b := range j.Binds {
		flag := "--bindmount_ro"
		if b.Writable {
			flag = "--bindmount"
		}
		args = append(args, flag, b.Source+":"+b.Target)
	}
	return append(append(args, "--"), j.Args...)
}
