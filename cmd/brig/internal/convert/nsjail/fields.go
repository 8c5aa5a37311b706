package nsjail

import (
	"slices"
	"strconv"
	"strings"

	"brig/cmd/brig/internal/convert"
)

// field converts a field.
func (c *config) field(f *field, w *convert.Word) {
	switch w.How {
	case "usual": // it is so in every jail, or means nothing there
	case "last":
		c.last[f.name] = f
	case "flag":
		c.Flag(f.name, w.Flag, f.value)
	case "number":
		c.amount(f, w.Flag, 1)
	case "parent":
		c.Flag(f.name, "cgroup-parent", "/"+f.value)
	case "own":
		c.own(f)
	default:
		switch {
		case f.sub == nil && w.Idle(f.value):
		case strings.HasPrefix(f.value, "-"): // a niceness or score that takes from others
			c.Note(f.name, convert.Missing, w.Text)
		default:
			c.Lost(f.name, w)
		}
	}
}

// own converts a field that is like no other.
func (c *config) own(f *field) {
	switch f.name {
	case "mode":
		if slices.Contains([]string{"LISTEN", "RERUN", "0", "2"}, f.value) {
			c.Note(f.name, convert.Missing, "a jail runs once; systemd.socket(5) starts one for each caller")
		}
	case "keep_env":
		if c.bool(f) {
			c.Flag(f.name, "pass-env", "*")
			c.Note(f.name, convert.Missing, convert.NoSecrets)
		}
	case "cgroup_cpu_ms_per_sec":
		c.amount(f, "cpus", 1000)
	case "cgroup_net_cls_classid":
		if c.number(f) > 0 {
			c.Flag(f.name, "cgroup", "net_cls.classid="+f.value)
		}
	case "uidmap", "gidmap":
		c.idmap(f)
	case "exec_bin":
		c.exec(f)
	case "mount":
		c.mount(f)
	}
}

// amount converts a number, in parts of one. 0 means that there is no limit.
func (c *config) amount(f *field, flag string, parts int64) {
	if n := c.number(f); n > 0 {
		c.Flag(f.name, flag, strconv.FormatFloat(float64(n)/float64(parts), 'f', -1, 64))
	}
}
