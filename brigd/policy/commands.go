package policy

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"brig/brigd/job"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// command checks Args[0] by the file that the jail will execute, and the other arguments by patterns.
//
// An entry allows a command if both lead to the same file (device and inode number) and have the same base name. The
// name matters because a multi-call binary such as busybox chooses its function by argv[0].
func (p *Policy) command(s *nsjail.Spec, v *view) *job.Refusal {
	if strings.IndexByte(strings.Join(s.Args, ""), 0) >= 0 { // execve(2) would cut it at the NUL
		return p.refusal("commands", "invalid_request", "an argument has a NUL byte", "Leave it out.")
	}
	entries, refusal := p.entries(s, v)
	if refusal != nil {
		return refusal
	}
	var whys []*job.Refusal
	for _, k := range entries {
		denied, r := p.arguments(k, s.Args[1:])
		if denied {
			return r // what an entry denies, no other allows
		}
		whys = append(whys, r)
	}
	if slices.Contains(whys, nil) {
		return nil
	}
	return whys[0]
}

// entries returns the policy's entries for the file that will be executed, or a refusal if there is none.
func (p *Policy) entries(s *nsjail.Spec, v *view) (list []Command, _ *job.Refusal) {
	var named []Command
	for _, k := range p.Commands {
		if k.Command == Any {
			list = append(list, k)
		} else {
			named = append(named, k)
		}
	}
	certain := len(list) == 0
	files, err := candidates(s, v)
	switch {
	case err == nil && len(files) > 0:
	case certain:
		return nil, p.notFound(s.Args[0], err)
	default: // what an entry denies stays denied, although the file cannot be determined
		files = []candidate{{name: s.Args[0]}, {name: words.OtherName(s.Args[0])}}
	}
	for _, f := range files {
		own := slices.DeleteFunc(slices.Clone(named), func(k Command) bool {
			sameName := f.name != "" && path.Base(k.Command) == path.Base(f.name)
			if f.file == nil || certain && !sameName { // no need to look for the entry's file
				return !sameName
			}
			same := sameFile(k, f.file, v)
			return !(sameName && same && !strings.HasSuffix(f.name, "/") && !p.writable(f.file, v)) &&
				(certain || !sameName && !same)
		})
		if len(own) == 0 && certain {
			return nil, p.notAllowed(f.name, f.file, v)
		}
		list = append(list, own...)
	}
	return list, nil
}

// sameFile reports whether an entry leads to the file, under any name.
func sameFile(k Command, f *file, v *view) bool {
	own, err := lookPath(k.Command, spec.DefaultPath, "/", v)
	return err == nil && len(own) > 0 && own[0].dev == f.dev && own[0].ino == f.ino
}

// writable reports whether runs under this policy may write to the file's location on the host. A payload may then have
// replaced the file.
func (p *Policy) writable(f *file, v *view) bool {
	if len(p.Paths.Write) == 0 {
		return false
	}
	if f.bind < 0 && v.spec.Rootfs.Path == "" {
		return covers(p.Paths.Write, f.path) // the minimal root shows it where the host has it
	}
	where, err := v.host(f.bind)
	if err != nil {
		return true
	}
	return covers(p.Paths.Write, where) ||
		slices.ContainsFunc(p.Paths.Write, func(w string) bool { return sys.Under(settled(w), where) })
}

// candidate is a file that the jail may execute, and the name by which it does.
type candidate struct {
	name string
	file *file
}

// candidates returns the files that the jail may execute, in order. The kernel executes the first that it can.
func candidates(s *nsjail.Spec, v *view) (list []candidate, err error) {
	dirs := spec.DefaultPath
	for _, e := range s.Env {
		if value, ok := strings.CutPrefix(e, "PATH="); ok {
			dirs = value // the last one counts, as in the jail
		}
	}
	if slices.Contains(s.PassEnv, "PATH") ||
		slices.ContainsFunc(s.PassEnv, func(g string) bool { ok, err := path.Match(g, "PATH"); return ok || err != nil }) {
		return nil, errors.New("its PATH comes from the caller's environment")
	}
	for _, name := range []string{s.Args[0], words.OtherName(s.Args[0])} {
		if name == "" || len(list) > 0 && list[len(list)-1].file.mode&0o001 != 0 { // the jail does not go on with that name
			break
		}
		files, err := lookPath(name, dirs, cmp.Or(s.Workdir, spec.DefaultWorkdir), v)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			list = append(list, candidate{name, f})
		}
	}
	return list, nil
}

// lookPath finds a command as nsjail does: in each absolute directory of PATH in turn, skipping a file that is missing
// or not executable. After a file that is executable for some users only, the search goes on, since that file may be
// skipped.
func lookPath(name, dirs, workdir string, v *view) (list []*file, err error) {
	if strings.Contains(name, "/") {
		if !strings.HasPrefix(name, "/") {
			name = workdir + "/" + name
		}
		f, err := v.resolve(name)
		if err != nil || !executable(f) {
			return nil, err
		}
		return []*file{f}, nil
	}
	tried := false
	for dir := range strings.SplitSeq(dirs, ":") {
		if !path.IsAbs(dir) {
			continue
		}
		tried = true
		f, err := v.resolve(path.Join(dir, name))
		switch {
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), err == nil && !executable(f):
			continue
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path.Join(dir, name), err)
		}
		list = append(list, f)
		if f.mode&0o001 != 0 {
			return list, nil
		}
	}
	if !tried {
		return lookPath("/"+name, "", "/", v)
	}
	return list, nil
}

func executable(f *file) bool { return f.mode&unix.S_IFMT == unix.S_IFREG && f.mode&0o111 != 0 }

// notFound returns the Refusal of a command that does not exist, or whose file cannot be determined before the run.
func (p *Policy) notFound(name string, err error) *job.Refusal {
	if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) {
		return p.refusal("commands", "command_not_allowed", fmt.Sprintf("%s is not allowed: %v", words.QuoteASCII(name), err),
			"Use one of the allowed commands, by its name: "+p.commandNames()+".")
	}
	if slices.ContainsFunc(p.Commands, func(k Command) bool { return k.Command == name }) {
		return p.refusal("commands", "command_not_found", words.QuoteASCII(name)+
			" is allowed, and is not installed in the jail",
			p.otherCommands(name))
	}
	return p.refusal("commands", "command_not_allowed", words.QuoteASCII(name)+" is not among the allowed commands",
		p.useCommands())
}

func (p *Policy) notAllowed(name string, f *file, v *view) *job.Refusal {
	next := []string{p.useCommands()}
	if p.writable(f, v) {
		next = append(next, "A program below a path that runs may write to is no allowed command.")
	}
	for _, k := range p.Commands[:min(len(p.Commands), 64)] {
		if k.Command != Any && path.Base(k.Command) != path.Base(name) && sameFile(k, f, v) {
			next = []string{fmt.Sprintf("It is the same file as the allowed %s: call it by that name.",
				words.QuoteASCII(k.Command)),
				next[0]}
			break
		}
	}
	if len(p.Languages) > 0 {
		next = append(next, "Or send code in one of the allowed languages: "+strings.Join(p.Languages, ", ")+".")
	}
	return p.refusal("commands", "command_not_allowed",
		fmt.Sprintf("%s (%s) is not among the allowed commands", words.QuoteASCII(name), words.QuoteASCII(f.path)), next...)
}

func (p *Policy) useCommands() string {
	if len(p.Commands) == 0 {
		if len(p.Languages) > 0 {
			return "No command is allowed; send code in one of the allowed languages: " + strings.Join(p.Languages, ", ") + "."
		}
		return "No command is allowed; ask the operator for another policy."
	}
	return "Use one of the allowed commands: " + p.commandNames() + "."
}

func (p *Policy) otherCommands(name string) string {
	rest := slices.DeleteFunc(strings.Split(p.commandNames(), ", "), func(s string) bool { return s == name })
	return "Do it without " + words.QuoteASCII(name) + "; other allowed commands: " + orNone(rest) + "."
}

// commandNames lists the allowed commands for a message.
func (p *Policy) commandNames() string {
	var names []string
	for _, k := range p.Commands {
		if !slices.Contains(names, k.Command) {
			names = append(names, k.Command)
		}
	}
	return orNone(names)
}
