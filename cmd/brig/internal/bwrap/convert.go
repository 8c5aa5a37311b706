package bwrap

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"brig/cmd/brig/internal/convert"
	"brig/nsjail"
	"brig/nsjail/steps"
)

// conversion is the state of a conversion to a spec.
type conversion struct {
	*Options
	convert.Jail
	mounts []convert.Step
}

// Convert returns the jail that a command line means, for brig convert. It is one of brig's, with its namespaces,
// filter and limits, and shares nothing that bubblewrap would leave shared but the network.
func Convert(args []string, read func(fd int) ([]byte, error)) (*convert.Jail, error) {
	o, err := Parse(args, read)
	if err == nil && len(o.Command) == 0 {
		err = errors.New("there is no command; write it after the options")
	}
	if err != nil {
		return nil, err
	}
	c := &conversion{Options: o}
	c.Args = o.Command
	for i := range o.Steps {
		c.step(&o.Steps[i])
	}
	c.filesystem()
	c.environment()
	c.Flag("the time", "timeout", "0") // bwrap has no limit
	uid, gid := o.UID, o.GID
	if uid < 0 {
		uid = os.Getuid()
	}
	if gid < 0 {
		gid = os.Getgid()
	}
	c.Flag("--uid", "user", strconv.Itoa(uid)+":"+strconv.Itoa(gid))
	if o.UnshareNet {
		c.Flag("--unshare-net", "net", "loopback")
	} else {
		c.Flag("--share-net", "net", "host")
	}
	if o.AsPID1 {
		c.Flag("--as-pid-1", "no-init")
	}
	if o.ExecLabel != "" {
		c.Flag("--exec-label", "selinux-label", o.ExecLabel)
	}
	c.losses()
	return &c.Jail, nil
}

// losses notes options without a counterpart.
func (c *conversion) losses() {
	o := c.Options
	for _, loss := range []struct {
		is     bool
		of     string
		effect convert.Effect
		text   string
	}{
		{o.SeccompFD != NoFD || len(o.AddSeccomp) > 0, "--seccomp", convert.Weaker, "a compiled filter is not read, " +
			"and brig's own is in force; write a profile in docker's JSON after --seccomp"},
		{o.FileLabel != "", "--file-label", convert.Weaker, "brig labels no files"},
		{o.UsernsFD != NoFD || o.Userns2FD != NoFD || o.PIDNSFD != NoFD, "--userns, --userns2, --pidns", convert.Missing,
			"the jail always has namespaces of its own"},
		{!o.UnsharePID || !o.UnshareIPC, "without --unshare-pid, --unshare-ipc", convert.Missing,
			"the jail always has namespaces of its own"},
		{slices.ContainsFunc(o.Caps, func(op CapOp) bool { return op.Add }), "--cap-add", convert.Missing,
			"no flag gives the payload a capability"},
		{o.Argv0 != nil, "--argv0", convert.Missing, "the payload's argv[0] is its name"},
		{o.SyncFD != NoFD || o.BlockFD != NoFD || o.UsernsBlockFD != NoFD, "--sync-fd, --block-fd", convert.Missing,
			"a jail starts at once"},
		{o.InfoFD != NoFD || o.StatusFD != NoFD, "--info-fd, --json-status-fd", convert.Missing, "write --report-fd N"},
		{len(o.LockFiles) > 0, "--lock-file", convert.Missing, "write flock(1) before brig run"},
	} {
		if loss.is {
			c.Note(loss.of, loss.effect, loss.text)
		}
	}
}

// step adds a mount. Later ones hide earlier ones, which a spec does not have.
func (c *conversion) step(s *Step) {
	of := "--" + string(s.Kind)
	m := nsjail.Mount{Type: nsjail.MountBind, Source: s.Source, Target: s.Target}
	switch s.Kind {
	case steps.Bind, steps.ROBind, steps.DevBind:
		m.Writable = s.Kind != steps.ROBind
		if _, err := os.Stat(s.Source); s.Try && err != nil {
			return
		}
	case steps.Tmpfs:
		m = nsjail.Mount{Type: nsjail.MountTmpfs, Target: s.Target, Size: nsjail.Bytes(min(s.Size, 1<<62)), Mode: mode(s)}
	case steps.Dir:
		m = nsjail.Mount{Type: nsjail.MountDir, Target: s.Target, Mode: mode(s)}
	case steps.Symlink:
		m = nsjail.Mount{Type: nsjail.MountSymlink, Source: s.Source, Target: s.Target}
	case steps.Hostname:
		c.Flag(of, "hostname", s.Target)
		return
	case steps.RemountRO:
		for i := range c.mounts {
			if m := c.mounts[i].Mount; m.Target == s.Target {
				m.Writable = false
			}
		}
		return
	case steps.Proc, steps.Dev:
		if s.Target == "/"+string(s.Kind) {
			return
		}
		fallthrough
	default:
		c.Note(of+" "+s.Target, convert.Missing, "write --file SRC DST, --tmpfs DST or --cow DIR")
		return
	}
	if s.FD != NoFD {
		c.Note(of+"-fd", convert.Missing, "a spec has no descriptors; write the path")
		return
	}
	c.mounts = append(c.mounts, convert.Step{Of: strings.TrimSpace(of + " " + s.Source), Mount: &m})
}

func mode(s *Step) string { return fmt.Sprintf("%o", s.Perms&0o1777) }

// filesystem adds the root and the mounts, and the directory to start in, which is the caller's if it is there.
func (c *conversion) filesystem() {
	dir := "/"
	cwd, err := os.Getwd()
	for _, s := range c.mounts {
		m := s.Mount
		if m.Source == m.Target && strings.HasPrefix(cwd+"/", strings.TrimSuffix(m.Target, "/")+"/") && err == nil {
			dir = cwd
		}
	}
	c.Tree(c.mounts)
	c.Flag("--chdir", "workdir", cmp.Or(c.Chdir, dir))
}

// environment adds the variables: bubblewrap passes all of the caller's.
func (c *conversion) environment() {
	all := true
	var set []string
	for _, op := range c.Env {
		set = slices.DeleteFunc(set, func(e string) bool { return op.Clear || strings.HasPrefix(e, op.Name+"=") })
		all = all && !op.Clear
		if op.Set {
			set = append(set, op.Name+"="+op.Value)
		} else if !op.Clear && all {
			c.Note("--unsetenv "+op.Name, convert.Missing, "all variables pass but secrets; name those that do by --pass-env")
		}
	}
	c.Flag("the environment", "bare-env")
	if all {
		c.Flag("the environment", "pass-env", "*")
		c.Note("the environment", convert.Missing, convert.NoSecrets)
	}
	for _, e := range set {
		c.Flag("--setenv", "env", e)
	}
}
