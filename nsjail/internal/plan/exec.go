package plan

import (
	"path"
	"strings"

	"brig/internal/program"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/spec"

	"golang.org/x/sys/unix"
)

// execve appends execve(2) of the command in each directory of the jail's PATH, as execvp(3) does, and then of its
// other name. The kernel tries them at the start.
func (r *resolver) execve() {
	r.Env = host.BuildEnv(r.Spec, r.Host.Env, r.Host.Term)
	env := program.Strs(r.Env)
	args := r.Spec.Args
	r.Exec = r.candidates(args[0])
	own := len(r.Exec)
	if other := OtherName(args[0]); other != "" {
		r.Exec = append(r.Exec, r.candidates(other)...)
	}
	for i, file := range r.Exec {
		if i == own { // a program may look itself up by args[0]
			args = append([]string{OtherName(args[0])}, args[1:]...)
		}
		op := r.Jail.Add(spec.OpExec, unix.SYS_EXECVE, program.Str(file), program.Strs(args), env)
		if i < len(r.Exec)-1 {
			op.May(unix.ENOENT, unix.ENOTDIR, unix.EACCES)
		}
	}
}

// candidates returns the paths in the jail that the name of a command can mean.
func (r *resolver) candidates(name string) (files []string) {
	if strings.Contains(name, "/") {
		return []string{name}
	}
	for _, e := range r.Env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			for _, dir := range strings.Split(v, ":") {
				if path.IsAbs(dir) {
					files = append(files, path.Join(dir, name))
				}
			}
		}
	}
	if len(files) == 0 {
		return []string{"/" + name}
	}
	return files
}

// OtherName returns the name under which a distribution installs a program that it does not install under its usual
// name: python3 for python. It returns "" for other names.
func OtherName(name string) string {
	return map[string]string{"python": "python3", "pip": "pip3", "node": "nodejs"}[name]
}
