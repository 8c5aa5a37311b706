package compose

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strings"

	"brig/cmd/brig/internal/convert"
	"brig/internal/words"
	"brig/nsjail"
)

// table has the keys of a service in the compose specification, and the flags of docker run that they become.
//
//go:embed keys.txt
var table string

// key converts a key that has a value.
func (r *reader) key(w *convert.Word, at string, v any) {
	switch w.How {
	case "one":
		r.Set(at, w.Flag, r.text(at, v))
	case "each":
		r.each(w.Flag, at, v)
	case "pairs":
		r.pairs(w.Flag, at, v)
	case "flag": // its note, whatever the value
		r.Set(at, w.Flag, "")
	case "own":
		own()[w.Name](r, at, v)
	case "none": // it is converted elsewhere, or concerns no run
	case "refused":
		r.fail(at, "%s", w.Text)
	default:
		r.Note(at, convert.Effect(w.How), w.Text)
	}
}

// own returns the conversions of keys that are like no other.
func own() map[string]func(r *reader, at string, v any) {
	return map[string]func(*reader, string, any){
		"command":    func(r *reader, at string, v any) { r.command = r.words(at, v) },
		"configs":    func(r *reader, at string, v any) { r.files(at, "configs", "/", v) },
		"deploy":     (*reader).deploy,
		"entrypoint": func(r *reader, at string, v any) { r.Entrypoint = r.words(at, v) },
		"env_file":   (*reader).envFile,
		"image":      func(r *reader, at string, v any) { r.image = r.text(at, v) },
		"network_mode": func(r *reader, at string, v any) {
			r.mode = true
			r.Set(at, "network", r.text(at, v))
		},
		"ports":        (*reader).ports,
		"secrets":      func(r *reader, at string, v any) { r.files(at, "secrets", "/run/secrets/", v) },
		"security_opt": (*reader).securityOpt,
		"ulimits":      (*reader).ulimits,
		"volumes":      (*reader).volumes,
	}
}

func (r *reader) each(flag, at string, v any) {
	for i, e := range r.list(v) {
		r.Set(fmt.Sprintf("%s[%d]", at, i), flag, r.text(at, e))
	}
}

// securityOpt converts NAME:VALUE. A profile is a file beside the compose file.
func (r *reader) securityOpt(at string, v any) {
	for i, e := range r.list(v) {
		text := r.text(at, e)
		for _, kind := range []string{"seccomp:", "seccomp="} {
			if file, ok := strings.CutPrefix(text, kind); ok && file != "unconfined" && file != "builtin" {
				text = kind + r.path(file)
			}
		}
		r.Set(fmt.Sprintf("%s[%d]", at, i), "security-opt", text)
	}
}

// pairs converts a mapping, or a list of NAME=VALUE. A name without a value is the caller's variable.
func (r *reader) pairs(flag, at string, v any) {
	if _, ok := v.(map[string]any); !ok {
		r.each(flag, at, v)
		return
	}
	between := "="
	if flag == "add-host" {
		between = ":"
	}
	for name, value := range r.members(at, v) {
		if value == nil {
			r.Set(at, flag, name)
			continue
		}
		for _, e := range r.list(value) { // a host may have several addresses
			r.Set(at, flag, name+between+r.text(at+"."+name, e))
		}
	}
}

func (r *reader) envFile(at string, v any) {
	for _, e := range r.list(v) {
		if m, ok := e.(map[string]any); ok {
			e = m["path"]
			if _, err := os.Stat(r.path(r.text(at, e))); err != nil && m["required"] != nil && !r.bool(at, m["required"]) {
				continue
			}
		}
		r.Set(at, "env-file", r.path(r.text(at, e)))
	}
}

func (r *reader) ulimits(at string, v any) {
	for name, value := range r.members(at, v) {
		if both, ok := value.(map[string]any); ok {
			value = r.text(at, both["soft"]) + ":" + r.text(at, both["hard"])
		}
		r.Set(at, "ulimit", name+"="+r.text(at, value))
	}
}

func (r *reader) ports(at string, v any) {
	for _, e := range r.list(v) {
		m, ok := e.(map[string]any)
		if !ok {
			r.Set(at, "publish", r.text(at, e))
			continue
		}
		text := r.text(at, m["target"])
		for _, key := range []string{"published", "host_ip"} {
			if s := r.text(at, m[key]); s != "" {
				text = s + ":" + text
			}
		}
		if s := r.text(at, m["protocol"]); s != "" {
			text += "/" + s
		}
		r.Set(at, "publish", text)
	}
}

func (r *reader) volumes(at string, v any) {
	for _, e := range r.list(v) {
		m, ok := e.(map[string]any)
		if !ok {
			text := r.text(at, e)
			if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "~") {
				source, rest, _ := strings.Cut(text, ":")
				text = r.path(source) + ":" + rest
			}
			r.Set(at, "volume", text)
			continue
		}
		options := []string{"type=" + r.text(at, m["type"]), "target=" + r.text(at, m["target"])}
		if s := r.text(at, m["source"]); s != "" && m["type"] == "bind" {
			options = append(options, "source="+r.path(s))
		}
		for key := range r.members(at, m) {
			if !slices.Contains(strings.Fields("type source target read_only consistency bind volume tmpfs image"), key) {
				r.fail(at, "%s is not a key of a volume; leave it out", words.Quote(key))
			}
		}
		if r.bool(at, m["read_only"]) {
			options = append(options, "readonly")
		}
		for _, name := range []string{"bind.propagation", "bind.recursive", "tmpfs.size", "tmpfs.mode"} {
			of, key, _ := strings.Cut(name, ".")
			if s := r.text(at, r.object(at, m[of])[key]); s != "" {
				options = append(options, of+"-"+key+"="+s)
			}
		}
		if slices.ContainsFunc(options, func(o string) bool { return strings.Contains(o, ",") }) {
			r.fail(at, "a comma in a path is not read; write the short form SRC:DST")
		}
		r.Set(at, "mount", strings.Join(options, ","))
	}
}

// files shows secrets or configurations, which are files beside the compose file or texts in it.
func (r *reader) files(at, section, dir string, v any) {
	all := r.object(section, r.expand(section, r.top[section]))
	for _, e := range r.list(v) {
		m, ok := e.(map[string]any)
		if !ok {
			m = map[string]any{"source": e}
		}
		name := r.text(at, m["source"])
		target := r.text(at, m["target"])
		if !strings.HasPrefix(target, "/") {
			target = dir + target
		}
		if target == dir {
			target = dir + name
		}
		from := r.object(section+"."+name, all[name])
		switch {
		case from["file"] != nil:
			r.Mount(at, nsjail.Mount{Type: nsjail.MountBind, Source: r.path(r.text(at, from["file"])), Target: target})
		case from["content"] != nil:
			r.Mount(at, nsjail.Mount{Type: nsjail.MountData, Content: r.text(at, from["content"]), Target: target})
		default:
			r.Note(at, convert.Missing, "only files are shown; write --file SRC "+target)
		}
	}
}

// deploy converts the limits; the rest is for a swarm.
func (r *reader) deploy(at string, v any) {
	for key, value := range r.members(at, v) {
		switch key {
		case "resources":
			r.resources(at+"."+key, value)
		case "restart_policy":
			r.Set(at+"."+key, "restart", "always")
		default:
			r.Note(at+"."+key, convert.Ignored, "it is for a swarm")
		}
	}
}

func (r *reader) resources(at string, v any) {
	for part, limits := range r.members(at, v) {
		for name, value := range r.members(at, limits) {
			of := at + "." + part + "." + name
			switch part + "." + name {
			case "limits.cpus", "limits.memory":
				r.Set(of, name, r.text(of, value))
			case "limits.pids":
				r.Set(of, "pids-limit", r.text(of, value))
			case "reservations.memory":
				r.Set(of, "memory-reservation", r.text(of, value))
			case "reservations.devices":
				r.Set(of, "gpus", "")
			case "reservations.cpus", "reservations.generic_resources":
				r.Note(of, convert.Ignored, "it is for a swarm, which chooses machines by it")
			default:
				r.Note(of, convert.Unknown, "brig does not know this key")
			}
		}
	}
}
