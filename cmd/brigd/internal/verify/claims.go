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
	"brig/internal/words"
	"brig/nsjail"
)

// weakness returns the settings with which the configuration does not claim what is attacked, or "": those that the
// attack's header names in unless, and those that switch the mitigation off, if they are settings only. off is the
// Spec of the latter.
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
				flag, _ = weakFilter(c, off)
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

// settings returns the flags of what is wanted.
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
			if within(m.Target, dir) || within(dir, m.Target) {
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
	var by []string
	for _, weak := range []func(c *config, off *nsjail.Spec) (flag string, wanted bool){
		weakFilter, weakNet, weakInit, weakOptional, weakEnv, weakProcesses, weakRlimits, weakMounts,
		weakProtect,
	} {
		flag, wanted := weak(c, off)
		if !wanted {
			continue
		}
		if flag == "" {
			return ""
		}
		by = append(by, flag)
	}
	return strings.Join(by, " ")
}

func weakFilter(c *config, off *nsjail.Spec) (string, bool) {
	if s := c.spec.Seccomp; s != "" && s != "default" && !tighter(s) {
		return "--seccomp " + words.Printable(s), off.Seccomp != ""
	}
	return "", off.Seccomp != ""
}

func weakNet(c *config, off *nsjail.Spec) (string, bool) {
	return only(c.spec.Net == off.Net, "--net "+string(off.Net)), off.Net != ""
}

func weakInit(c *config, off *nsjail.Spec) (string, bool) {
	return only(c.spec.NoInit, "--no-init"), off.NoInit
}

func weakOptional(c *config, off *nsjail.Spec) (string, bool) {
	for _, name := range off.Optional {
		if !slices.Contains(c.spec.Optional, name) {
			return "", true
		}
	}
	return "--optional " + strings.Join(off.Optional, ","), len(off.Optional) > 0
}

func weakEnv(c *config, off *nsjail.Spec) (string, bool) {
	names := c.secrets()
	return only(len(names) > 0, "--env "+words.Printable(strings.Join(names, " --env "))), len(off.PassEnv) > 0
}

func weakProcesses(c *config, off *nsjail.Spec) (string, bool) {
	return only(c.spec.Limits.Processes < 0, "--pids-limit -1"), off.Limits.Processes < 0
}

func weakRlimits(c *config, off *nsjail.Spec) (string, bool) {
	for name := range off.Limits.Rlimits {
		if l, ok := c.spec.Limits.Rlimits[name]; ok {
			return fmt.Sprintf("--ulimit %s=%d:%d", words.Printable(name), l.Soft, l.Hard), true
		}
	}
	return "", len(off.Limits.Rlimits) > 0
}

func weakMounts(c *config, off *nsjail.Spec) (string, bool) {
	var by []string
	for _, m := range top(off.Mounts) {
		own := c.find(&m)
		if own == nil {
			return "", true
		}
		by = append(by, flagOf(own))
	}
	return strings.Join(by, " "), len(by) > 0
}

func weakProtect(c *config, off *nsjail.Spec) (string, bool) {
	wanted := off.Protect != nil
	if !slices.Contains(c.spec.Protect, nsjail.ProtectGit) {
		return "--no-protect", wanted
	}
	for _, p := range c.spec.Protect {
		if back, ok := strings.CutPrefix(p, "!"); ok {
			return "--no-protect=" + words.Printable(back), wanted
		}
	}
	return "", wanted
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
		if !isGlob(name) && nsjail.Sensitive(name) {
			names = append(names, name)
		}
	}
	for _, e := range c.spec.Env {
		if name, _, _ := strings.Cut(e, "="); nsjail.Sensitive(name) {
			names = append(names, name)
		}
	}
	return names
}

// flagOf returns the flag of a mount, with its paths if it is one of the configuration.
func flagOf(m *nsjail.Mount) string {
	flag := map[nsjail.MountType]string{nsjail.MountCOW: "--cow", nsjail.MountFile: "--file"}[m.Type]
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
