package isolate

import (
	"errors"
	"path"
	"slices"
	"strings"

	"brig/internal/words"
)

// Rule is a directory rule: what the program sees at a path.
type Rule struct {
	Inside  string // without a slash at the beginning
	Outside string // an absolute path, one that begins with ./ for the box's directory, a file system, or "" for nothing
	Has     []string
	Default bool
}

func (r *Rule) has(option string) bool { return slices.Contains(r.Has, option) }

func ruleOptions() []string { return []string{"rw", "noexec", "fs", "maybe", "dev", "tmp", "norec"} }

func filesystems() []string { return []string{"proc", "sysfs", "tmpfs", "devpts"} }

// addDefaults adds isolate's own rules, which come before the caller's.
func (o *dirs) addDefaults() {
	for _, r := range []string{"box=./box:rw", "bin", "dev:dev:norec", "dev/shm=tmpfs:fs:rw", "lib", "lib64:maybe",
		"proc=proc:fs", "tmp:tmp", "usr"} {
		if err := o.addRule(r, true); err != nil {
			panic(err)
		}
	}
}

// addRule adds "IN=OUT:OPTION..." or replaces the rule for the same path.
func (o *dirs) addRule(arg string, byDefault bool) error {
	parts := strings.Split(arg, ":")
	in, out, has := strings.Cut(parts[0], "=")
	r := Rule{Inside: strings.TrimLeft(in, "/"), Outside: out, Has: parts[1:], Default: byDefault}
	for _, option := range r.Has {
		if !slices.Contains(ruleOptions(), option) {
			return errorf("Invalid directory rule %s: unknown option %s", words.Quote(arg), words.Quote(option))
		}
	}
	if err := r.complete(has); err != nil {
		return errorf("Invalid directory rule %s: %w", words.Quote(arg), err)
	}
	for i := range o.Rules {
		if o.Rules[i].Inside == r.Inside {
			o.Rules[i] = r
			return nil
		}
	}
	o.Rules = append(o.Rules, r)
	return nil
}

// complete checks a rule, and sets what it leaves out. has is set if it names what is outside.
func (r *Rule) complete(has bool) error {
	if r.Inside == "" || slices.Contains(strings.Split(r.Inside, "/"), "..") {
		return errors.New("the path inside must be below /, and may not go up")
	}
	r.Inside = strings.TrimPrefix(path.Clean("/"+r.Inside), "/")
	switch {
	case r.Inside == "":
		return errors.New("the path inside must be below /")
	case r.has("fs") && r.has("tmp"):
		return errors.New("options fs and tmp are mutually exclusive")
	case r.has("fs") && !slices.Contains(filesystems(), r.Outside):
		return errors.New("the file system must be one of " + strings.Join(filesystems(), ", "))
	case r.has("fs"):
	case r.has("tmp") && has:
		return errors.New("a temporary directory has no right-hand side")
	case r.has("tmp"):
		r.Outside = "./tmp/" + strings.ReplaceAll(r.Inside, "/", ":") // none is below another
		r.Has = append(r.Has, "rw")
	case !has:
		r.Outside = "/" + r.Inside
	case r.Outside != "" && r.Outside[0] != '/' && !strings.HasPrefix(r.Outside, "./"):
		return errors.New("the right-hand side must start with / or ./")
	}
	return nil
}
