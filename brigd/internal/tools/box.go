package tools

import (
	"encoding/json"
	"io/fs"
	"strings"

	"go.yaml.in/yaml/v3"

	"brig/brigd/engine"
	egress "brig/netns/egress/policy"
)

// box reads the key sandbox into a run, which already has the settings of the whole file; those of a tool override
// them. The engine's defaults apply to what is zero.
func (r *reader) box(n *yaml.Node, path string, b *engine.Request, fresh *bool) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!bool" {
		if !r.boolean(n, path) {
			r.problem(n, path, "every tool runs in the jail: write true, or what the jail allows")
		}
		return
	}
	var network, allow *yaml.Node
	r.mapping(n, path, fields{
		"type": func(n *yaml.Node, p string) {
			if text := r.text(n, p); text != "brig" {
				r.problem(n, p, "%q is not what runs tools here: write brig, or remove it", short(text))
			}
		},
		"network": func(n *yaml.Node, _ string) { network = n },
		"allow":   func(n *yaml.Node, _ string) { allow = n },
		"readonly_root": func(n *yaml.Node, p string) {
			if !r.boolean(n, p) {
				r.problem(n, p, "the root is always read-only: write true, and let the tool write to /work, /output or /tmp")
			}
		},
		"memory":  func(n *yaml.Node, p string) { unit(r, n, p, &b.Memory, "a size such as 512m") },
		"timeout": func(n *yaml.Node, p string) { unit(r, n, p, &b.Timeout, "a time such as 30s") },
		"cpus":    func(n *yaml.Node, p string) { unit(r, n, p, &b.CPUs, "a number such as 0.5") },
		"mounts":  func(n *yaml.Node, p string) { b.Mounts = r.mounts(n, p) },
		"image":   func(n *yaml.Node, p string) { b.Image = r.fixed(n, p) },
		"fresh":   func(n *yaml.Node, p string) { *fresh = r.boolean(n, p) },
	})
	r.network(network, allow, path, b)
}

// network reads the allowed destinations: "none", "restricted" to the rules in allow, or the rules themselves.
func (r *reader) network(network, allow *yaml.Node, path string, b *engine.Request) {
	switch {
	case network == nil && allow == nil:
	case network == nil:
		b.Network = r.rules(allow, path+".allow")
	case network.Kind == yaml.SequenceNode && allow != nil:
		r.problem(allow, path+".allow", "network lists rules already: keep one list")
	case network.Kind == yaml.SequenceNode:
		b.Network = r.rules(network, path+".network")
	default:
		switch text := r.text(network, path+".network"); {
		case text == "restricted":
			if b.Network = nil; allow != nil {
				b.Network = r.rules(allow, path+".allow")
			}
		case text == "none" && allow != nil:
			r.problem(allow, path+".allow", "network is none: write network: restricted, or remove allow")
		case text == "none":
			b.Network = nil
		default:
			r.problem(network, path+".network", "%q names no place: write none, or restricted and a list allow, such as "+
				"[\"example.org:443\"]", short(text))
		}
	}
}

func (r *reader) rules(n *yaml.Node, path string) (list []string) {
	r.list(n, path, maxList, func(n *yaml.Node, p string) {
		text := r.text(n, p)
		if len(placeholders(text)) > 0 {
			r.problem(n, p, "what may be reached cannot be a parameter: write the rule out")
			return
		}
		if _, err := egress.ParseRule(text); err != nil {
			r.problem(n, p, "%v", err)
			return
		}
		list = append(list, text)
	})
	return list
}

// mounts reads the shares that a tool is shown.
func (r *reader) mounts(n *yaml.Node, path string) (list []engine.Mount) {
	r.list(n, path, engine.MaxMounts, func(n *yaml.Node, p string) {
		var m engine.Mount
		field := func(to *string) func(*yaml.Node, string) {
			return func(n *yaml.Node, p string) { *to = r.fixed(n, p) }
		}
		r.mapping(n, p, fields{"share": field(&m.Share), "target": field(&m.Target), "path": field(&m.Path),
			"mode": field(&m.Mode), "protect": func(n *yaml.Node, p string) {
				r.list(n, p, maxList, func(n *yaml.Node, p string) { m.Protect = append(m.Protect, r.fixed(n, p)) })
			}})
		if m.Share == "" || m.Target == "" {
			r.problem(n, p, "it has no share or no target: write both, as in {share: data, target: /data}")
		}
		list = append(list, m)
	})
	return list
}

// fixed reads the name of something that the tool is shown.
func (r *reader) fixed(n *yaml.Node, path string) string {
	text := r.text(n, path)
	if len(placeholders(text)) > 0 {
		r.problem(n, path, "what is shown cannot be a parameter: write it out")
	}
	return text
}

// unit reads a number with its unit, in the form of JSON requests.
func unit[T engine.Size | engine.Seconds | float64](r *reader, n *yaml.Node, path string, to *T, want string) {
	if n.Kind != yaml.ScalarNode {
		r.problem(n, path, "it is %s: write %s", kindOf(n), want)
		return
	}
	text := []byte(n.Value)
	if n.Tag != "!!int" && n.Tag != "!!float" {
		text, _ = json.Marshal(n.Value) // a string always has a JSON form
	}
	if err := json.Unmarshal(text, to); err != nil {
		r.problem(n, path, "%q is not what belongs here: write %s", short(n.Value), want)
		return
	}
	if *to <= 0 {
		r.problem(n, path, "it is not more than 0: write %s", want)
	}
}

// relative reports whether name is a valid relative path below /input.
func relative(name string) bool {
	return fs.ValidPath(name) && name != "." && len(name) <= 255 && !strings.ContainsRune(name, 0)
}
