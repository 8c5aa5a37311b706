package verify

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"brig/internal/attack"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// weakness returns the settings by which the configuration drops the protection that an attack tests, or "". They are
// those that the attack's header lists under unless, and those that switch the mitigation off, if settings alone do so.
// off is the Spec that switches it off.
func (c *config) weakness(a *attack.Attack, off *nsjail.Spec) string {
	for _, u := range a.Unless {
		if dir, ok := strings.CutPrefix(u, "bind="); ok {
			if by := c.handsOver(dir); by != "" {
				return by
			}
			continue
		}
		var want any
		if err := json.Unmarshal([]byte(u), &want); err == nil && matches(c.tree, want) {
			return settings(c.tree, want, "")
		}
	}
	if strings.Contains(strings.Join(a.Args, " ")+" ", "$DIR") || slices.Contains(a.Args, "$SECRETS") {
		if _, by := c.shown(filepath.Join(c.temp, "brig-escape-", "secret")); by != nil {
			return flagOf(by)
		}
	}
	var by []string
	for _, o := range a.Offs {
		if o.Lane != "" && o.Lane != c.lane {
			continue
		}
		flag := ""
		switch o.Kind {
		case "bind":
			flag = c.handsOver(o.Value)
		case "spec":
			flag = c.covers(off)
		case "call":
			if strings.HasPrefix(o.Value, "seccomp(") {
				flag = c.weakFilter()
			}
		}
		if flag == "" {
			return ""
		}
		by = append(by, flag)
	}
	return strings.Join(slices.Compact(by), " ")
}

// matches reports whether a value has all that is wanted of it; "*" wants any.
func matches(has, want any) bool {
	w, ok := want.(map[string]any)
	if !ok {
		return want == "*" && has != nil || reflect.DeepEqual(has, want)
	}
	h, _ := has.(map[string]any) // nil has no keys
	for key, value := range w {
		if has, ok := h[key]; !ok || !matches(has, value) {
			return false
		}
	}
	return true
}

// flags are the flags of settings that have another name in JSON.
var flags = map[string]string{"no_init": "--no-init", "rootfs.writable": "--rootfs-writable", "rootfs.path": "--rootfs",
	"limits.rlimits": "--ulimit", "limits.processes": "--pids-limit"}

// settings returns the flags of the wanted settings.
func settings(has, want any, at string) string {
	w, ok := want.(map[string]any)
	h, _ := has.(map[string]any)
	if flag, known := flags[at]; known && at == "limits.rlimits" {
		return flag + " " + strings.Join(slices.Sorted(maps.Keys(w)), " ")
	} else if known {
		return flag
	}
	if !ok {
		if text, ok := has.(string); ok {
			return "--" + at + " " + words.Printable(text)
		}
		return "--" + at
	}
	var list []string
	for key, value := range w {
		list = append(list, settings(h[key], value, strings.TrimPrefix(at+"."+key, ".")))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// handsOver returns the flag that shows something of the host at a directory of the jail, or above or below it.
func (c *config) handsOver(dir string) string {
	for i := range c.spec.Mounts {
		m := &c.spec.Mounts[i]
		switch m.Type {
		case nsjail.MountBind, nsjail.MountCOW, nsjail.MountFile, nsjail.MountVolume:
			if sys.Under(m.Target, dir) || sys.Under(dir, m.Target) {
				return flagOf(m)
			}
		}
	}
	if dir == "/etc" && len(c.spec.Etc) > 0 {
		return "--etc " + words.Printable(strings.Join(c.spec.Etc, " --etc "))
	}
	return ""
}

// covers returns the flags of the configuration that weaken it as off does, or "" if one of off's is not there.
func (c *config) covers(off *nsjail.Spec) string {
	secrets := c.secrets()
	var by []string
	for _, weak := range []struct {
		wanted bool
		flag   string // "" if the configuration does not have it
	}{
		{off.Seccomp != "", c.weakFilter()},
		{off.Net != "", only(c.spec.Net == off.Net, "--net "+string(off.Net))},
		{off.Rootfs.System != "", only(c.spec.Rootfs.System == off.Rootfs.System, "--system "+string(off.Rootfs.System))},
		{off.NoInit, only(c.spec.NoInit, "--no-init")},
		{len(off.Optional) > 0, c.weakOptional(off.Optional)},
		{len(off.PassEnv) > 0, only(len(secrets) > 0, "--env "+words.Printable(strings.Join(secrets, " --env ")))},
		{off.Limits.Processes < 0, only(c.spec.Limits.Processes < 0, "--pids-limit -1")},
		{len(off.Limits.Rlimits) > 0, c.weakRlimits(off.Limits.Rlimits)},
		{len(top(off.Mounts)) > 0, c.weakMounts(top(off.Mounts))},
		{off.Protect != nil, c.weakProtect()},
	} {
		if weak.wanted && weak.flag == "" {
			return ""
		}
		if weak.wanted {
			by = append(by, weak.flag)
		}
	}
	return strings.Join(by, " ")
}

func (c *config) weakFilter() string {
	s := c.spec.Seccomp
	return only(s != "" && s != "default" && !tighter(s), "--seccomp "+words.Printable(s))
}

func (c *config) weakOptional(names []string) string {
	missing := slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(c.spec.Optional, n) })
	return only(!missing, "--optional "+strings.Join(names, ","))
}

func (c *config) weakRlimits(off map[string]spec.Rlimit) string {
	for name := range off {
		if l, ok := c.spec.Limits.Rlimits[name]; ok {
			return fmt.Sprintf("--ulimit %s=%d:%d", words.Printable(name), l.Soft, l.Hard)
		}
	}
	return ""
}

func (c *config) weakMounts(off []nsjail.Mount) string {
	var by []string
	for i := range off {
		own := c.find(&off[i])
		if own == nil {
			return ""
		}
		by = append(by, flagOf(own))
	}
	return strings.Join(by, " ")
}

func (c *config) weakProtect() string {
	if !slices.Contains(c.spec.Protect, spec.ProtectGit) {
		return "--no-protect"
	}
	for _, p := range c.spec.Protect {
		if back, ok := strings.CutPrefix(p, "!"); ok {
			return "--no-protect=" + words.Printable(back)
		}
	}
	return ""
}

func only(is bool, flag string) string {
	if is {
		return flag
	}
	return ""
}

// secrets returns the names of variables that look like secrets and are passed by their full names.
func (c *config) secrets() (names []string) {
	for _, name := range c.spec.PassEnv {
		if !isGlob(name) && spec.Sensitive(name) {
			names = append(names, name)
		}
	}
	for _, e := range c.spec.Env {
		if name, _, _ := strings.Cut(e, "="); spec.Sensitive(name) {
			names = append(names, name)
		}
	}
	return names
}

// flagOf returns the flag of a mount, with its paths if it is one of the configuration.
func flagOf(m *nsjail.Mount) string {
	flag := map[spec.MountType]string{nsjail.MountCOW: "--cow", nsjail.MountFile: "--file"}[m.Type]
	switch {
	case flag != "":
	case m.Writable:
		flag = "--bind"
	case m.Live:
		flag = "--ro-bind-live"
	default:
		flag = "--ro-bind"
	}
	if strings.HasPrefix(m.Source, "$") {
		return flag
	}
	return flag + " " + words.Printable(m.Source) + " " + words.Printable(m.Target)
}
