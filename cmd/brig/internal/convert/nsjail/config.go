// Package nsjail converts configuration files of nsjail, messages of its config.proto in protobuf's text format.
package nsjail

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"brig/cmd/brig/internal/convert"
	"brig/internal/words"
	"brig/nsjail"
)

// table has all fields of NsJailConfig (config.proto of nsjail 3.6).
//
//go:embed fields.txt
var table string

// config is the state of a conversion.
type config struct {
	convert.Jail
	last     map[string]*field // of fields whose last value counts
	uid, gid string
	mounts   []convert.Step
	proc     bool // a mount is at /proc
	err      error
}

// Convert converts a file. The command, if there is one, replaces the file's own.
func Convert(data string, command []string) (*convert.Jail, error) {
	list, err := parse(data)
	if err != nil {
		return nil, err
	}
	known := map[string]*convert.Word{}
	for _, w := range convert.Words(table) {
		known[w.Name] = &w
	}
	c := &config{last: map[string]*field{}}
	for i := range list {
		f := &list[i]
		if known[f.name] == nil {
			c.fail(f, "it is not a field of nsjail; %s", words.DidYouMean(f.name, slices.Sorted(maps.Keys(known))))
			break
		}
		c.field(f, known[f.name])
	}
	c.finish()
	if len(command) > 0 {
		c.Args = command
	}
	if len(c.Args) == 0 && c.err == nil {
		c.err = errors.New("there is no command; write exec_bin, or the command after --")
	}
	return &c.Jail, c.err
}

func (c *config) fail(f *field, format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("line %d: %s: "+format, append([]any{f.line, words.Quote(f.name)}, args...)...)
	}
}

// text returns the value of a field, or its default.
func (c *config) text(name, otherwise string) string {
	if f := c.last[name]; f != nil {
		return f.value
	}
	return otherwise
}

// is reports whether a field is true, or would be without a value.
func (c *config) is(name string, otherwise bool) bool {
	if f := c.last[name]; f != nil {
		return c.bool(f)
	}
	return otherwise
}

// finish adds what has a default, or follows from several fields.
func (c *config) finish() {
	c.Flag("the environment", "bare-env")
	c.Flag("hostname", "hostname", c.text("hostname", "NSJAIL"))
	c.Flag("cwd", "workdir", path.Clean("/"+c.text("cwd", "/")))
	c.Flag("time_limit", "timeout", c.text("time_limit", "600"))
	if !c.is("clone_newnet", true) {
		c.Flag("clone_newnet", "net", "host")
	} else if c.is("iface_no_lo", false) {
		c.Flag("iface_no_lo", "net", "none")
	}
	if c.uid+c.gid != "" {
		c.Flag("uidmap", "user", cmp.Or(c.uid, "1000")+":"+cmp.Or(c.gid, c.uid))
	}
	if !c.is("disable_rl", false) {
		c.limits()
	}
	if !c.is("mount_proc", true) && !c.proc {
		c.Note("mount_proc", convert.Weaker, "the jail always has a /proc of its own, whose sensitive files are masked")
	}
	c.Tree(c.mounts)
}

func (c *config) bool(f *field) bool {
	if !slices.Contains([]string{"true", "false", "1", "0"}, f.value) {
		c.fail(f, "%s is neither true nor false; write one of them", words.Quote(f.value))
	}
	return f.value == "true" || f.value == "1"
}

func (c *config) number(f *field) int64 {
	n, err := strconv.ParseInt(f.value, 0, 64)
	if err != nil {
		c.fail(f, "%s is not a number; write digits", words.Quote(f.value))
	}
	return n
}

// limits converts resource limits. Where nsjail keeps the caller's, the jail has brig's, which are no higher. No core
// file is brig's own limit, too, and starts no helper of the host.
func (c *config) limits() {
	for _, limit := range []struct {
		name  string
		unit  int64  // bytes, or 1
		value string // "" is the caller's
	}{
		{"as", 1 << 20, "4096"}, {"core", 1 << 20, "0"}, {"cpu", 1, "600"}, {"fsize", 1 << 20, "1"}, {"nofile", 1, "32"},
		{"nproc", 1, ""}, {"stack", 1 << 20, ""}, {"memlock", 1 << 10, ""}, {"rtprio", 1, ""}, {"msgqueue", 1, ""},
	} {
		of := "rlimit_" + limit.name
		kind := c.text(of+"_type", "")
		if kind == "" && limit.value == "" {
			kind = "SOFT"
		}
		switch kind {
		case "SOFT", "HARD", "1", "2":
			continue
		case "INF", "3":
			c.Flag(of, "ulimit", limit.name+"=unlimited")
			continue
		}
		f := cmp.Or(c.last[of], &field{name: of, value: cmp.Or(limit.value, "1024")})
		n := c.number(f)
		switch {
		case n < 0 || n > 1<<40:
			c.fail(f, "%d is not a limit; write less", n)
		case limit.name == "core" && n == 0:
		case limit.name == "nproc":
			c.Flag(of, "pids-limit", strconv.FormatInt(n, 10))
		default:
			c.Flag(of, "ulimit", limit.name+"="+strconv.FormatInt(n*limit.unit, 10))
		}
	}
}

// idmap takes the id inside. Outside, the payload is who brig makes it.
func (c *config) idmap(f *field) {
	to := &c.uid
	if f.name == "gidmap" {
		to = &c.gid
	}
	for _, s := range f.sub {
		switch {
		case s.name == "inside_id" && *to == "":
			*to = s.value
		case s.name == "inside_id", s.name == "count" && s.value != "1":
			c.Note(f.name, convert.Missing, "a jail has one id of each kind")
		case s.name == "outside_id" && s.value != "":
			c.Note(f.name, convert.Ignored, "on the host the payload is the caller, or an unused id if that is root")
		}
	}
}

func (c *config) exec(f *field) {
	for _, s := range f.sub {
		switch s.name {
		case "path":
			c.Args = slices.Insert(c.Args, 0, s.value)
		case "arg":
			c.Args = append(c.Args, s.value)
		case "arg0":
			c.Note("exec_bin.arg0", convert.Missing, "the payload's argv[0] is its path")
		}
	}
}

func (c *config) mount(f *field) {
	v, on := map[string]string{}, map[string]bool{"mandatory": true}
	for _, s := range f.sub {
		v[s.name] = s.value
		switch s.name {
		case "src", "dst", "prefix_src_env", "prefix_dst_env", "src_content", "fstype", "options":
		case "is_bind", "rw", "is_dir", "mandatory", "is_symlink", "nosuid", "nodev", "noexec":
			on[s.name] = c.bool(&s)
		default:
			c.fail(&s, "it is not a field of a mount; write src, dst, is_bind, rw or fstype")
		}
	}
	src, of := os.Getenv(v["prefix_src_env"])+v["src"], "mount "+v["dst"]
	dst := path.Clean("/" + os.Getenv(v["prefix_dst_env"]) + v["dst"])
	m := nsjail.Mount{Type: nsjail.MountBind, Source: src, Target: dst, Writable: on["rw"], NoExec: on["noexec"]}
	step := convert.Step{Of: of, Mount: &m}
	c.proc = c.proc || dst == "/proc"
	_, absent := os.Stat(src)
	switch {
	case on["is_symlink"]:
		m = nsjail.Mount{Type: nsjail.MountSymlink, Source: src, Target: dst}
	case v["src_content"] != "":
		m = nsjail.Mount{Type: nsjail.MountData, Content: v["src_content"], Target: dst}
	case on["is_bind"] && absent != nil && !on["mandatory"]:
		return
	case on["is_bind"]:
	case v["fstype"] == "proc" && dst == "/proc", v["fstype"] == "tmpfs" && dst == "/":
		return
	case v["fstype"] == "tmpfs":
		if !on["rw"] {
			c.Note(of, convert.Weaker, "the directory can be written to")
		}
		options := v["options"]
		if on["noexec"] {
			options += ",noexec"
		}
		value := strings.TrimSuffix(dst+":"+strings.TrimPrefix(options, ","), ":")
		step = convert.Step{Of: of, Flag: "tmpfs", Values: []string{value}}
	default:
		c.Note(of, convert.Missing, "brig mounts no file system of the type "+words.Quote(v["fstype"]))
		return
	}
	c.mounts = append(c.mounts, step)
}
