package engine

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"brig/brigd/job"
	"brig/internal/text"
	egress "brig/netns/egress/policy"
	"brig/nsjail"
)

// Bounds of a request.
const (
	MaxFiles    = 100     // files of a request without a sandbox: each is a mount of the jail
	MaxEnv      = 256     // variables and secrets
	MaxStdin    = 8 << 20 // bytes of Stdin
	MaxArgs     = 1024    // words of Cmd, and of Args
	MaxSecrets  = 64      // each has 4 bytes to 16 KiB, all together at most 64 KiB
	maxFilePath = 1024    // bytes
)

func (r *Request) check() *job.Refusal {
	switch {
	case len(r.Cmd) > 0 && (r.Code != "" || r.Language != ""):
		return bad("code_and_cmd", "cmd", "both code and cmd are given", "send either language and code, or cmd")
	case len(r.Cmd) == 0 && r.Language == "" && r.Code == "" && r.Image == "":
		return bad("nothing_to_run", "cmd", "neither code nor cmd is given",
			"send language and code, or cmd as a list of words")
	case len(r.Cmd) == 0 && r.Language == "" && r.Code != "":
		return bad("language_missing", "language", "code is given without its language",
			"send language, one of those that the list of languages names")
	case len(r.Cmd) > MaxArgs || len(r.Args) > MaxArgs:
		return bad("too_many_args", "args", fmt.Sprintf("more than %d arguments", MaxArgs),
			"put them into a file or into stdin")
	case len(r.Cmd) > 0 && len(r.Args) > 0:
		return bad("args_without_code", "args", "args are for code", "append them to cmd")
	case len(r.Stdin) > MaxStdin:
		return bad("stdin_too_large", "stdin", fmt.Sprintf("stdin has %d bytes, more than %d", len(r.Stdin), MaxStdin),
			"put it into a file of a sandbox and read that")
	case len(r.Env)+len(r.Secrets) > MaxEnv:
		return bad("too_many_variables", "env", fmt.Sprintf("more than %d variables", MaxEnv), "put them into a file")
	case r.Apart && r.Sandbox == "":
		return bad("apart_alone", "apart", "apart: a run without a sandbox has a jail of its own",
			"leave it out, or name a sandbox")
	case !slices.Contains([]string{"", "none", "ansi", "all"}, r.Strip):
		return bad("bad_strip", "strip", fmt.Sprintf("strip: %.20q is none of none, ansi and all", r.Strip),
			"write one of them, or leave it out")
	}
	return cmp.Or(negative(amount{"timeout", r.Timeout < 0, "30s"}, amount{"memory", r.Memory < 0, "512m"},
		amount{"cpus", r.CPUs < 0, "0.5"}, amount{"max_output", r.MaxOutput < 0, "64k"}),
		r.checkSecrets(), r.checkNames())
}

// checkSecrets limits the number and size of secrets, for which all output is searched. The Refusal contains no value.
func (r *Request) checkSecrets() *job.Refusal {
	total := 0
	for name, value := range r.Secrets {
		total += len(value)
		switch {
		case len(value) < text.MinSecret:
			return bad("secret_too_short", "secrets",
				fmt.Sprintf("the value of %.80q has fewer than %d bytes, and would be masked everywhere", name, text.MinSecret),
				"send it in env if it is no secret")
		case len(value) > 16<<10:
			return bad("secret_too_long", "secrets",
				fmt.Sprintf("the value of %.80q has %d bytes, more than 16 KiB", name, len(value)), "put it into a file")
		}
	}
	if len(r.Secrets) > MaxSecrets || total > 64<<10 {
		return bad("too_many_secrets", "secrets",
			fmt.Sprintf("%d secrets of %d bytes are more than %d, or than 64 KiB", len(r.Secrets), total, MaxSecrets),
			"send fewer")
	}
	return nil
}

// checkNames refuses names of variables that the jail would interpret differently. Spec.Check finds other errors in
// names.
func (r *Request) checkNames() *job.Refusal {
	for field, vars := range map[string]map[string]string{"env": r.Env, "secrets": r.Secrets} {
		for name, value := range vars {
			if strings.Contains(value, "\x00") {
				return bad("bad_variable", field, fmt.Sprintf("the value of %.80q has a NUL byte", name),
					"remove it, or put the value into a file")
			}
			if name == "" || strings.ContainsAny(name, "=\x00") {
				return bad("bad_variable", field, fmt.Sprintf("%q is not the name of a variable", name),
					"use letters, digits and underscores")
			}
		}
	}
	for name := range r.Secrets {
		if _, twice := r.Env[name]; twice {
			return bad("variable_twice", "secrets", fmt.Sprintf("%q is in env and in secrets", name), "leave it out of env")
		}
	}
	return nil
}

// network converts rules to the jail's egress policy.
func network(s *nsjail.Spec, rules []string) *job.Refusal {
	if len(rules) == 0 {
		return nil
	}
	p := s.Policy().Clone()
	p.Allow = nil
	for i, text := range rules {
		rule, err := egress.ParseRule(text)
		if err != nil {
			return bad("bad_network_rule", fmt.Sprintf("network[%d]", i), err.Error(),
				`write a host and a port, as in "example.org:443"`)
		}
		p.Allow = append(p.Allow, rule)
	}
	s.Net, s.Egress = nsjail.NetEgress, p
	return nil
}

// inlineFiles adds a request's files to the jail as mounts.
func inlineFiles(s *nsjail.Spec, files map[string]File) *job.Refusal {
	if len(files) > MaxFiles {
		return bad("too_many_files", "files", fmt.Sprintf("%d files are more than %d", len(files), MaxFiles),
			"send an archive, or create a sandbox and put them there")
	}
	total := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		below, no := fileName(name)
		if no != nil {
			return no
		}
		f := files[name]
		if total += len(f.Data); len(f.Data) > 4<<20 || total > 11<<20 { // bounds of nsjail.Mount.Content, less the code
			return bad("files_too_large", "files",
				fmt.Sprintf("%q: a file of a run has at most 4 MiB, and all together 11 MiB", name),
				"create a sandbox and put the file there")
		}
		m := nsjail.Mount{Type: nsjail.MountData, Target: "/input/" + below, Content: string(f.Data)}
		if f.Executable {
			m.Mode = "555"
		}
		s.Mounts = append(s.Mounts, m)
	}
	return nil
}

// fileName returns the path below /input for a file of a request: "d" and "/input/d" are the same. "input/d" is
// refused, since it could mean /input/d or /input/input/d.
func fileName(name string) (below string, no *job.Refusal) {
	below, absolute := strings.CutPrefix(name, "/input/")
	if below == "" || len(below) > maxFilePath || path.IsAbs(below) || path.Clean(below) != below || below == "." ||
		below == ".." || strings.HasPrefix(below, "../") || strings.ContainsAny(below, "\x00") {
		return "", bad("bad_file_name", "files", fmt.Sprintf("%.200q is not a path below /input", name),
			`name files like "data.csv", "dir/data.csv" or "/input/data.csv"`)
	}
	if rest, twice := strings.CutPrefix(below, "input/"); twice && !absolute {
		return "", bad("bad_file_name", "files", fmt.Sprintf("%.200q is a relative path, and "+
			"those are below /input already", name),
			fmt.Sprintf("write %.200q, or %.200q if it is to be that", "/input/"+rest, "/input/"+below))
	}
	return below, nil
}
