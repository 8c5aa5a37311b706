package lang

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"brig/brigd/job"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// Bounds of a request, in bytes and in arguments. A mount of type data can hold more than MaxCode. execve(2) accepts 2
// MiB of arguments and environment with the default stack limit.
const (
	MaxCode     = 1 << 20
	MaxArgs     = 4096
	MaxArgBytes = 1 << 20     // together
	maxArg      = 128<<10 - 1 // each: MAX_ARG_STRLEN of execve(2), less the NUL
	goCacheAt   = "/run/brig/go-cache"
	shell       = "/bin/sh"
	inputDir    = "/input" // where a request's files are
)

// Prepare changes a Job to run code. It sets j.Language to the language's canonical name, j.Code and j.Spec.Args, adds
// a mount with the code to j.Spec.Mounts, and for some languages a variable with directories of the jail to j.Spec.Env.
// j.Spec.Workdir must be set before. If the request is invalid, it returns a Refusal and leaves the Job unchanged.
func (l *Languages) Prepare(j *job.Job, language, code string, args []string) *job.Refusal {
	return l.PrepareIn(l.dir, j, language, code, args)
}

// PrepareIn is like Prepare, with the code in a directory of the jail.
func (l *Languages) PrepareIn(dir string, j *job.Job, language, code string, args []string) *job.Refusal {
	g, program, no := l.find(language)
	if no == nil {
		no = l.check(j, code, args)
	}
	if no != nil {
		return no
	}
	l.fill(dir, j, &g.row, program, code, args)
	l.mu.Lock()
	defer l.mu.Unlock()
	if g.script == scriptGo && l.goCache != nil {
		j.Spec.Mounts = append(j.Spec.Mounts, *l.goCache)
	}
	return nil
}

// check checks the parts of a request that do not depend on the language.
func (l *Languages) check(j *job.Job, code string, args []string) *job.Refusal {
	no := func(code, rule, step, message string, a ...any) *job.Refusal {
		return &job.Refusal{Message: fmt.Sprintf(message, a...), Code: code, Layer: "request", Rule: rule,
			NextSteps: []string{step}}
	}
	if j.Spec.Rootfs.Path != l.base.Rootfs.Path {
		names := map[bool]string{true: "the default root", false: "another root"}
		return no("language_rootfs", "language", "Send a command instead of code, or leave the image out.",
			"the languages were looked for in %s, and the run is to have %s", names[l.base.Rootfs.Path == ""],
			names[j.Spec.Rootfs.Path == ""])
	}
	if len(code) > MaxCode {
		return no("code_too_large", "code", "Put the data, or modules of the program, into files below /input.",
			"the code has %d bytes, and at most %d are taken", len(code), MaxCode)
	}
	if at := strings.IndexByte(code, 0); at >= 0 { // Python 3.11 silently ends the code there
		return no("code_invalid", "code", "Write the byte as an escape of the language.",
			"the code has a NUL byte at offset %d, where some interpreters would stop reading", at)
	}
	if len(args) > MaxArgs {
		return no("args_too_many", "args", "Pass the data on stdin or in a file.",
			"there are %d args, and at most %d are taken", len(args), MaxArgs)
	}
	total := 0
	for i, a := range args {
		if total += len(a) + 1; len(a) > maxArg || total > MaxArgBytes {
			return no("args_too_large", "args", "Pass the data on stdin or in a file.",
				"args[%d] has %d bytes; one may have %d, and all together %d", i, len(a), maxArg, MaxArgBytes)
		}
		if at := strings.IndexByte(a, 0); at >= 0 {
			return no("args_invalid", "args", "Remove the NUL byte, or pass the data on stdin.",
				"args[%d] has a NUL byte at offset %d, which no program can be given", i, at)
		}
	}
	return nil
}

// fill sets the Job's fields to run a program.
func (l *Languages) fill(dir string, j *job.Job, r *row, program, code string, args []string) {
	file := path.Join(dir, r.file)
	j.Language, j.Code = r.name, []byte(code)
	j.Spec.Mounts = append(slices.Clip(j.Spec.Mounts),
		nsjail.Mount{Type: nsjail.MountData, Target: file, Content: code, Mode: "444"})
	if r.script != "" {
		j.Spec.Args = []string{shell, "-c", r.script, shell, program, file, goCacheAt}
	} else {
		j.Spec.Args = append([]string{program}, r.flags...)
		j.Spec.Args = append(append(j.Spec.Args, file), r.separator...)
	}
	j.Spec.Args = append(j.Spec.Args, args...)
	if r.pathVar != "" {
		addEnv(&j.Spec, r.pathVar, modulePath(&j.Spec))
	}
}

// modulePath returns the directories of the code's own modules.
func modulePath(s *nsjail.Spec) string {
	workdir := s.Workdir
	if workdir == "" {
		workdir = spec.DefaultWorkdir
	}
	if workdir == inputDir || strings.ContainsAny(workdir, ":") { // a colon in a directory's name cannot be quoted
		return inputDir
	}
	return workdir + ":" + inputDir
}

// addEnv sets a variable, unless the Job sets it.
func addEnv(s *nsjail.Spec, name, value string) {
	for _, e := range s.Env {
		if strings.HasPrefix(e, name+"=") {
			return
		}
	}
	s.Env = append(slices.Clip(s.Env), name+"="+value)
}
