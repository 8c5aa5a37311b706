package compose

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"brig/cmd/brig/internal/convert"
	"brig/internal/words"
	"brig/nsjail"
)

type setter = func(r *reader, at string, v any)

// keys returns the keys of a service.
func keys() map[string]setter {
	table := map[string]setter{
		"annotations": pairs("annotation", "="), "labels": pairs("label", "="), "sysctls": pairs("sysctl", "="),
		"storage_opt": pairs("storage-opt", "="), "extra_hosts": pairs("add-host", ":"), "ulimits": (*reader).ulimits,
		"environment": pairs("env", "="), "env_file": (*reader).envFile,
		"command":    func(r *reader, at string, v any) { r.command = r.words(at, v) },
		"entrypoint": func(r *reader, at string, v any) { r.Entrypoint = r.words(at, v) },
		"image":      func(r *reader, at string, v any) { r.image = r.text(at, v) },
		"network_mode": func(r *reader, at string, v any) {
			r.mode = true
			one("network")(r, at, v)
		},
		"ports": (*reader).ports, "security_opt": (*reader).securityOpt, "volumes": (*reader).volumes,
		"deploy":       (*reader).deploy,
		"blkio_config": noted("blkio-weight-device"), "devices": noted("device"), "gpus": noted("gpus"),
		"secrets":     func(r *reader, at string, v any) { r.files(at, "secrets", "/run/secrets/", v) },
		"configs":     func(r *reader, at string, v any) { r.files(at, "configs", "/", v) },
		"healthcheck": noted("health-cmd"), "logging": noted("log-driver"), "attach": noted("attach"),
		"build": nothing, "networks": nothing, "profiles": nothing, "develop": nothing, "scale": nothing,
		"depends_on": missing("the other service is not started; run it, and publish its port"),
		"models":     missing("brig runs no models"),
		"post_start": missing("brig runs one command; write it into a script"),
		"pre_stop":   missing("brig runs one command; write it into a script"),
		"credential_spec": func(r *reader, at string, _ any) {
			r.Note(at, convert.Ignored, "it is for Windows")
		},
		"extends":  func(r *reader, at string, _ any) { r.fail(at, "other services are not read; %s", flat) },
		"provider": func(r *reader, at string, _ any) { r.fail(at, "a provider's service is no container; leave it out") },
	}
	for key, flag := range map[string]string{"cgroup": "cgroupns", "container_name": "name", "cpuset": "cpuset-cpus",
		"mem_limit": "memory", "mem_reservation": "memory-reservation", "mem_swappiness": "memory-swappiness",
		"memswap_limit": "memory-swap", "pull_policy": "pull", "pull_refresh_after": "pull", "stdin_open": "interactive",
		"stop_grace_period": "stop-timeout", "userns_mode": "userns", "working_dir": "workdir"} {
		table[key] = one(flag)
	}
	for key := range strings.FieldsSeq("cgroup_parent cpu_count cpu_percent cpu_period cpu_quota cpu_rt_period " +
		"cpu_rt_runtime cpu_shares cpus domainname hostname init ipc isolation mac_address oom_kill_disable " +
		"oom_score_adj pid pids_limit platform privileged read_only restart runtime shm_size stop_signal tty " +
		"use_api_socket user uts") {
		table[key] = one(strings.ReplaceAll(key, "_", "-"))
	}
	for key, flag := range map[string]string{"cap_add": "cap-add", "cap_drop": "cap-drop",
		"device_cgroup_rules": "device-cgroup-rule", "dns": "dns", "dns_opt": "dns-option", "dns_search": "dns-search",
		"expose": "expose", "external_links": "link", "group_add": "group-add", "label_file": "label-file",
		"links": "link", "tmpfs": "tmpfs", "volumes_from": "volumes-from"} {
		table[key] = each(flag)
	}
	return table
}

func nothing(*reader, string, any) {}

func missing(text string) setter {
	return func(r *reader, at string, _ any) { r.Note(at, convert.Missing, text) }
}

// noted returns the setter of a key that becomes the note of a flag, whatever its value.
func noted(flag string) setter { return func(r *reader, at string, _ any) { r.Set(at, flag, "") } }

func one(flag string) setter {
	return func(r *reader, at string, v any) { r.Set(at, flag, r.text(at, v)) }
}

func each(flag string) setter {
	return func(r *reader, at string, v any) {
		for i, e := range r.list(v) {
			r.Set(fmt.Sprintf("%s[%d]", at, i), flag, r.text(at, e))
		}
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

// pairs returns the setter of a mapping, or of a list of NAME=VALUE. A name without a value is the caller's variable.
func pairs(flag, between string) setter {
	return func(r *reader, at string, v any) {
		if _, ok := v.(map[string]any); !ok {
			each(flag)(r, at, v)
			return
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
			for part, limits := range r.members(at, value) {
				for name, value := range r.members(at, limits) {
					of := at + ".resources." + part + "." + name
					switch part + "." + name {
					case "limits.cpus", "limits.memory":
						one(name)(r, of, value)
					case "limits.pids":
						one("pids-limit")(r, of, value)
					case "reservations.memory":
						one("memory-reservation")(r, of, value)
					case "reservations.devices":
						noted("gpus")(r, of, value)
					case "reservations.cpus", "reservations.generic_resources":
						r.Note(of, convert.Ignored, "it is for a swarm, which chooses machines by it")
					default:
						r.Note(of, convert.Unknown, "brig does not know this key")
					}
				}
			}
		case "restart_policy":
			one("restart")(r, at+"."+key, "always")
		default:
			r.Note(at+"."+key, convert.Ignored, "it is for a swarm")
		}
	}
}
