package lang

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"brig/brigd/job"
	"brig/internal/words"
	"brig/nsjail"
)

// bootstrap is how an interpreter is parked: a file that it loads before the program, and that waits for the program.
type bootstrap struct {
	file, text string         // in a directory of its own, which the jail shows read-only
	flags      []string       // the arguments that make the interpreter load it
	module     *regexp.Regexp // a name that can be imported; it cannot end the string in the text
}

//go:embed bootstrap.py
var bootPython string

//go:embed bootstrap.cjs
var bootNode string

// bootstraps are those of the languages that can be parked, by their rows' names.
var bootstraps = map[string]bootstrap{
	"python": {file: "usercustomize.py", text: bootPython,
		module: regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)},
	"javascript":        nodeBootstrap,
	"javascript-module": nodeBootstrap,
}

var nodeBootstrap = bootstrap{file: "bootstrap.cjs", text: bootNode, flags: []string{"--require"},
	module: regexp.MustCompile(`^(node:)?@?[A-Za-z0-9_][A-Za-z0-9_./-]*$`)}

// CanPark returns the canonical name of a language that Handover knows, or an error with the reason why it cannot be
// parked with these modules.
func (l *Languages) CanPark(language string, modules []string) (string, error) {
	g, _, no := l.find(language)
	if no != nil {
		steps := strings.Join(no.NextSteps, " ")
		return "", fmt.Errorf("%s; %s", no.Message, strings.ToLower(steps[:1])+steps[1:])
	}
	b, ok := bootstraps[g.name]
	if !ok {
		return "", fmt.Errorf("%s cannot be started before its program is known; name python, javascript or "+
			"javascript-module", g.name)
	}
	for _, m := range modules {
		if !b.module.MatchString(m) {
			return "", fmt.Errorf("%s is no module of %s; write names, separated by commas", words.Quote(m), g.name)
		}
	}
	return g.name, nil
}

// Handover returns how an interpreter that was started before the Job was known can run it, after Prepare: it has
// loaded the modules, and receives the arguments and the code. It finds both as without a Handover: the file with the
// code at its place, and no module, variable or argument of the bootstrap. Its directory is still there.
func (l *Languages) Handover(j *job.Job, modules []string) *nsjail.Handover {
	g := l.named(j.Language)
	b := bootstraps[g.name]
	file := path.Join(l.dir, g.file)
	at := slices.Index(j.Spec.Args, file)
	h := &nsjail.Handover{Env: slices.Clone(j.Spec.Env)}
	dir := l.dir + "-boot"
	boot := path.Join(dir, b.file)
	h.Args = slices.Clone(j.Spec.Args[:at])
	if len(b.flags) > 0 {
		h.Args = append(append(h.Args, b.flags...), boot)
	} else { // it is found as a module
		for i, e := range h.Env {
			if strings.HasPrefix(e, g.pathVar+"=") {
				h.Env[i] = strings.Replace(e+":"+dir, "=:", "=", 1) // an empty entry would be the working directory
			}
		}
	}
	h.Args = append(h.Args, file)
	for _, m := range j.Spec.Mounts {
		if m.Target != file {
			h.Mounts = append(h.Mounts, m)
		}
	}
	h.Mounts = append(h.Mounts, nsjail.Mount{Type: nsjail.MountTmpfs, Target: l.dir, Size: 2 * MaxCode, Mode: "755"},
		nsjail.Mount{Type: nsjail.MountData, Target: boot,
			Content: strings.Replace(b.text, "IMPORTS", strings.Join(modules, " "), 1)})
	if len(b.flags) == 0 { // an interpreter that does not look for the module finds it here, and it says why
		h.Mounts = append(h.Mounts, nsjail.Mount{Type: nsjail.MountSymlink, Source: boot, Target: file})
	}
	size := len(j.Code)
	for _, a := range j.Spec.Args[at+1:] {
		size += len(a) + 1
	}
	h.Data = binary.BigEndian.AppendUint32(make([]byte, 0, size+5), uint32(size))
	stdin := byte('+')
	if j.Stdin == nil {
		stdin = '-' // it is /dev/null, as without a Handover
	}
	h.Data = append(h.Data, stdin)
	for _, a := range j.Spec.Args[at+1:] {
		h.Data = append(append(h.Data, a...), 0)
	}
	h.Data = append(h.Data, j.Code...)
	return h
}
