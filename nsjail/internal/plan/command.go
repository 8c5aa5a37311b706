package plan

import (
	"cmp"
	"path"
	"strings"

	"brig/internal/program"
	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/ops"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// streams is what the payload has as standard streams.
type streams struct {
	terminal bool         // one of the jail's own
	first    program.Slot // of the three that the keeper passes
	null     [3]bool      // those that it does not pass: they are the /dev/null of a box's init
}

func (s *streams) write(p *program.Program) {
	if s.terminal {
		ops.OpenTerminal(p)
		return
	}
	next := s.first
	for i := range 3 {
		if s.null[i] {
			p.Add("stdio", unix.SYS_DUP3, program.Named(launcher.FDNull, "null"), program.Int(i), program.Int(0))
			continue
		}
		p.Add("stdio", unix.SYS_DUP3, next.Arg(), program.Int(i), program.Int(0))
		next++
	}
}

// closeOnExec leaves only the standard streams to the payload: close_range(2) CLOSE_RANGE_CLOEXEC, Linux 5.11.
func closeOnExec(p *program.Program) {
	p.Add("fds", unix.SYS_CLOSE_RANGE, program.Int(3), program.Named(^uint32(0), "~0U"),
		program.Named(unix.CLOSE_RANGE_CLOEXEC, "CLOSE_RANGE_CLOEXEC"))
}

// command is what the payload executes.
type command struct {
	dir   string
	files []ops.File // the command in each directory of the jail's PATH, as execvp(3), and then its other name
	env   []string
}

func decideCommand(in *input) command {
	passed := in.host.Env
	if dir := in.host.Scratch; dir != "" {
		passed = append(tierEnv(dir), passed...)
	}
	c := command{dir: cmp.Or(in.Workdir, in.host.Scratch, spec.DefaultWorkdir),
		env: host.BuildEnv(in.Spec, passed, in.host.Term)}
	for _, file := range candidates(in.Args[0], c.env) {
		c.files = append(c.files, ops.File{Path: file, Args: in.Args})
	}
	if other := words.OtherName(in.Args[0]); other != "" { // a program may look itself up by args[0]
		args := append([]string{other}, in.Args[1:]...)
		for _, file := range candidates(other, c.env) {
			c.files = append(c.files, ops.File{Path: file, Args: args})
		}
	}
	return c
}

// paths returns the paths that the command can have, in the order of the execve operations.
func (c *command) paths() []string {
	list := make([]string, len(c.files))
	for i, f := range c.files {
		list[i] = f.Path
	}
	return list
}

func (c *command) chdir(p *program.Program) { p.Add("workdir", unix.SYS_CHDIR, program.Str(c.dir)) }

func (c *command) execve(p *program.Program) {
	ops.Execve(p, c.files, c.env, unix.ENOENT, unix.ENOTDIR, unix.EACCES)
}

// candidates returns the paths in the jail that the name of a command can mean.
func candidates(name string, env []string) (files []string) {
	if strings.Contains(name, "/") {
		return []string{name}
	}
	dirs := spec.DefaultPath // a bare environment may have none
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			dirs = v
		}
	}
	for _, dir := range strings.Split(dirs, ":") {
		if path.IsAbs(dir) {
			files = append(files, path.Join(dir, name))
		}
	}
	if len(files) == 0 {
		return []string{"/" + name}
	}
	return files
}
