package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	egress "brig/netns/egress/policy"
)

// specFields are the keys of a Spec. A test compares them with the tags of the type.
func specFields(s *Spec) []field {
	return []field{
		{"args", strs(&s.Args)},
		{"env", strs(&s.Env)},
		{"pass_env", strs(&s.PassEnv)},
		{"workdir", str(&s.Workdir)},
		{"user", str(&s.User)},
		{"hostname", str(&s.Hostname)},
		{"rootfs", nested(rootfsFields(&s.Rootfs))},
		{"mounts", mountList(&s.Mounts)},
		{"etc", strs(&s.Etc)},
		{"net", str(&s.Net)},
		{"egress", policy(&s.Egress)},
		{"publish", strs(&s.Publish)},
		{"tty", boolean(&s.TTY)},
		{"no_init", boolean(&s.NoInit)},
		{"seccomp", str(&s.Seccomp)},
		{"limits", nested(limitsFields(&s.Limits))},
		{"cgroup_parent", str(&s.CgroupParent)},
		{"require", strs(&s.Require)},
		{"optional", strs(&s.Optional)},
	}
}

func rootfsFields(r *Rootfs) []field {
	return []field{{"path", str(&r.Path)}, {"writable", boolean(&r.Writable)}, {"size", bytesOf(&r.Size)}}
}

func mountFieldList(m *Mount) []field {
	return []field{
		{"type", str(&m.Type)},
		{"source", str(&m.Source)},
		{"target", str(&m.Target)},
		{"writable", boolean(&m.Writable)},
		{"live", boolean(&m.Live)},
		{"size", bytesOf(&m.Size)},
		{"inodes", integer(&m.Inodes)},
		{"mode", str(&m.Mode)},
		{"content", str(&m.Content)},
	}
}

// policy reads what a jail may reach by the reader that a policy file has, which is as strict.
func policy(to **egress.Policy) func(*specReader, string) error {
	return func(d *specReader, path string) error {
		var raw json.RawMessage
		if err := d.json.Decode(&raw); err != nil {
			return fmt.Errorf("%s: %s is not JSON: %w; correct it", d.where(), path, err)
		}
		p, err := egress.ParsePolicy(raw)
		var problem *egress.Problem
		if errors.As(err, &problem) {
			return fmt.Errorf("%s: %s; %s", strings.TrimSuffix(path+"."+problem.Path, "."), problem.Reason, problem.Fix)
		}
		*to = p
		return err
	}
}

func nested(fields []field) func(*specReader, string) error {
	return func(d *specReader, path string) error { return d.object(path, fields) }
}

func mountList(to *[]Mount) func(*specReader, string) error {
	return func(d *specReader, path string) error {
		return d.list(path, func(path string) error {
			var m Mount
			err := d.object(path, mountFieldList(&m))
			*to = append(*to, m)
			return err
		})
	}
}

func strs(to *[]string) func(*specReader, string) error {
	return func(d *specReader, path string) error {
		return d.list(path, func(path string) error {
			var s string
			err := str(&s)(d, path)
			*to = append(*to, s)
			return err
		})
	}
}

func str[T ~string](to *T) func(*specReader, string) error {
	return func(d *specReader, path string) error {
		t, err := d.token(path)
		if err != nil {
			return err
		}
		s, ok := t.(string)
		if !ok {
			return d.wrongType(path, t, "a string")
		}
		*to = T(s)
		return nil
	}
}

func boolean(to *bool) func(*specReader, string) error {
	return func(d *specReader, path string) error {
		t, err := d.token(path)
		if err != nil {
			return err
		}
		b, ok := t.(bool)
		if !ok {
			return d.wrongType(path, t, "true or false")
		}
		*to = b
		return nil
	}
}

func integer[T ~int | ~int64](to *T) func(*specReader, string) error {
	return func(d *specReader, path string) error {
		t, err := d.token(path)
		if err != nil {
			return err
		}
		n, ok := t.(json.Number)
		if !ok {
			return d.wrongType(path, t, "a whole number")
		}
		v, err := strconv.ParseInt(n.String(), 10, 64)
		if err != nil || int64(T(v)) != v {
			return d.wrongType(path, t, "a whole number of at most 63 bits")
		}
		*to = T(v)
		return nil
	}
}

func number(to *float64) func(*specReader, string) error {
	return func(d *specReader, path string) error {
		t, err := d.token(path)
		if err != nil {
			return err
		}
		n, ok := t.(json.Number)
		if !ok {
			return d.wrongType(path, t, "a number")
		}
		if *to, err = n.Float64(); err != nil {
			return d.wrongType(path, t, "a smaller number")
		}
		return nil
	}
}

func bytesOf(to *Bytes) func(*specReader, string) error {
	return func(d *specReader, path string) error {
		return d.quantity(path, "a size, as in \"64m\"", func(s string) (err error) {
			*to, err = ParseBytes(s)
			return err
		})
	}
}

func durationOf(to *Duration) func(*specReader, string) error {
	return func(d *specReader, path string) error {
		return d.quantity(path, "a duration, as in \"30s\"", func(s string) (err error) {
			*to, err = ParseDuration(s)
			return err
		})
	}
}

// quantity reads a number or the text of one.
func (d *specReader) quantity(path, want string, parse func(string) error) error {
	t, err := d.token(path)
	if err != nil {
		return err
	}
	text, ok := t.(string)
	if n, isNumber := t.(json.Number); isNumber {
		text, ok = n.String(), true
	}
	if !ok {
		return d.wrongType(path, t, want)
	}
	if err := parse(text); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
