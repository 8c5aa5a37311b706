package policy

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"brig/brigd/internal/jailpath"
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
func (p *programRules) command(s *nsjail.Spec, v *jailpath.View) *job.Refusal {
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
func (p *programRules) entries(s *nsjail.Spec, v *jailpath.View) (list []Command, _ *job.Refusal) {
	var named []Command
	for _, k := range p.commands {
		if k.Command == Any {
			list = append(list, k)
		} else {
			named = append(named, k)
		}
	}
	certain := len(list) == 0
	files, err := jailpath.Candidates(s, v)
	switch {
	case err == nil && len(files) > 0:
	case certain:
		return nil, p.notFound(s.Args[0], err)
	default: // what an entry denies stays denied, although the file cannot be determined
		files = []jailpath.Candidate{{Name: s.Args[0]}, {Name: words.OtherName(s.Args[0])}}
	}
	for _, f := range files {
		own := slices.DeleteFunc(slices.Clone(named), func(k Command) bool {
			sameName := f.Name != "" && path.Base(k.Command) == path.Base(f.Name)
			if f.File == nil || certain && !sameName { // no need to look for the entry's file
				return !sameName
			}
			same := sameFile(k, f.File, v)
			return !(sameName && same && !strings.HasSuffix(f.Name, "/") && !p.writable(f.File, v)) &&
				(certain || !sameName && !same)
		})
		if len(own) == 0 && certain {
			return nil, p.notAllowed(f.Name, f.File, v)
		}
		list = append(list, own...)
	}
	return list, nil
}

// sameFile reports whether an entry leads to the file, under any name.
func sameFile(k Command, f *jailpath.File, v *jailpath.View) bool {
	own, err := jailpath.LookPath(k.Command, spec.DefaultPath, "/", v)
	return err == nil && len(own) > 0 && own[0].Dev == f.Dev && own[0].Ino == f.Ino
}

// writable reports whether runs under this policy may write to the file's location on the host. A payload may then have
// replaced the file.
func (p *programRules) writable(f *jailpath.File, v *jailpath.View) bool {
	if len(p.writes) == 0 {
		return false
	}
	if f.Bind < 0 && v.Spec.Rootfs.Path == "" {
		return covers(p.writes, f.Path) // the minimal root shows it where the host has it
	}
	where, err := v.Host(f.Bind)
	if err != nil {
		return true
	}
	return covers(p.writes, where) ||
		slices.ContainsFunc(p.writes, func(w string) bool { return sys.Under(settled(w), where) })
}

// notFound returns the Refusal of a command that does not exist, or whose file cannot be determined before the run.
func (p *programRules) notFound(name string, err error) *job.Refusal {
	if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) {
		return p.refusal("commands", "command_not_allowed", fmt.Sprintf("%s is not allowed: %v", words.QuoteASCII(name), err),
			"Use one of the allowed commands, by its name: "+p.commandNames()+".")
	}
	if slices.ContainsFunc(p.commands, func(k Command) bool { return k.Command == name }) {
		return p.refusal("commands", "command_not_found", words.QuoteASCII(name)+
			" is allowed, and is not installed in the jail",
			p.otherCommands(name))
	}
	return p.refusal("commands", "command_not_allowed", words.QuoteASCII(name)+" is not among the allowed commands",
		p.useCommands())
}

func (p *programRules) notAllowed(name string, f *jailpath.File, v *jailpath.View) *job.Refusal {
	next := []string{p.useCommands()}
	if p.writable(f, v) {
		next = append(next, "A program below a path that runs may write to is no allowed command.")
	}
	for _, k := range p.commands[:min(len(p.commands), 64)] {
		if k.Command != Any && path.Base(k.Command) != path.Base(name) && sameFile(k, f, v) {
			next = []string{fmt.Sprintf("It is the same file as the allowed %s: call it by that name.",
				words.QuoteASCII(k.Command)),
				next[0]}
			break
		}
	}
	if len(p.languages) > 0 {
		next = append(next, "Or send code in one of the allowed languages: "+strings.Join(p.languages, ", ")+".")
	}
	return p.refusal("commands", "command_not_allowed",
		fmt.Sprintf("%s (%s) is not among the allowed commands", words.QuoteASCII(name), words.QuoteASCII(f.Path)), next...)
}

func (p *programRules) useCommands() string {
	if len(p.commands) == 0 {
		if len(p.languages) > 0 {
			return "No command is allowed; send code in one of the allowed languages: " + strings.Join(p.languages, ", ") + "."
		}
		return "No command is allowed; ask the operator for another policy."
	}
	return "Use one of the allowed commands: " + p.commandNames() + "."
}

func (p *programRules) otherCommands(name string) string {
	rest := slices.DeleteFunc(strings.Split(p.commandNames(), ", "), func(s string) bool { return s == name })
	return "Do it without " + words.QuoteASCII(name) + "; other allowed commands: " + orNone(rest) + "."
}

// commandNames lists the allowed commands for a message.
func (p *programRules) commandNames() string {
	var names []string
	for _, k := range p.commands {
		if !slices.Contains(names, k.Command) {
			names = append(names, k.Command)
		}
	}
	return orNone(names)
}
