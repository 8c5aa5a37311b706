// Package nsjail converts configuration files of nsjail, messages of its config.proto in protobuf's text format.
package nsjail

import (
	"cmp"
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

// config is the state of a conversion.
type config struct {
	convert.Jail
	hostname, cwd, time string
	net, uid, gid       string
	rlimits, kinds      map[string]string // by the names of getrlimit(2)
	noRlimits           bool
	noProc, proc        bool // mount_proc is false; a mount is at /proc
	mounts              []convert.Step
	err                 error
}

// Convert converts a file. The command, if there is one, replaces the file's own.
func Convert(data string, command []string) (*convert.Jail, error) {
	list, err := parse(data)
	if err != nil {
		return nil, err
	}
	c := &config{hostname: "NSJAIL", cwd: "/", time: "600", rlimits: map[string]string{}, kinds: map[string]string{}}
	table := fields()
	for i := range list {
		f := &list[i]
		set, ok := table[f.name]
		if !ok {
			c.fail(f, "it is not a field of nsjail; %s", words.DidYouMean(f.name, slices.Sorted(maps.Keys(table))))
			break
		}
		set(c, f)
	}
	if len(command) > 0 {
		c.Args = command
	}
	if len(c.Args) == 0 && c.err == nil {
		c.err = errors.New("there is no command; write exec_bin, or the command after --")
	}
	c.finish()
	return &c.Jail, c.err
}

func (c *config) fail(f *field, format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("line %d: %s: "+format, append([]any{f.line, words.Quote(f.name)}, args...)...)
	}
}

// finish adds what has a default, or follows from several fields.
func (c *config) finish() {
	c.Flag("the environment", "bare-env")
	c.Flag("hostname", "hostname", c.hostname)
	c.Flag("cwd", "workdir", path.Clean("/"+c.cwd))
	c.Flag("time_limit", "timeout", c.time)
	if c.net != "" {
		c.Flag("clone_newnet", "net", c.net)
	}
	if c.uid+c.gid != "" {
		c.Flag("uidmap", "user", cmp.Or(c.uid, "1000")+":"+cmp.Or(c.gid, c.uid))
	}
	if !c.noRlimits {
		c.limits()
	}
	if c.noProc && !c.proc {
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

// limit is a resource limit: the bytes of nsjail's unit, and its default, or "" for that of the caller.
type limit struct {
	name  string
	unit  int64
	value string
}

func limits() []limit {
	return []limit{{"as", 1 << 20, "4096"}, {"core", 1 << 20, "0"}, {"cpu", 1, "600"}, {"fsize", 1 << 20, "1"},
		{"nofile", 1, "32"}, {"nproc", 1, ""}, {"stack", 1 << 20, ""}, {"memlock", 1 << 10, ""}, {"rtprio", 1, ""},
		{"msgqueue", 1, ""}}
}

// limits converts resource limits. Where nsjail keeps the caller's, the jail has brig's, which are no higher. No core
// file is brig's own limit, too, and starts no helper of the host.
func (c *config) limits() {
	for _, row := range limits() {
		name, of, value, kind := row.name, "rlimit_"+row.name, c.rlimits[row.name], c.kinds[row.name]
		if value = cmp.Or(value, row.value); kind == "" && row.value == "" {
			kind = "SOFT"
		}
		switch kind {
		case "SOFT", "HARD", "1", "2":
			continue
		case "INF", "3":
			c.Flag(of, "ulimit", name+"=unlimited")
			continue
		}
		n := c.number(&field{name: of, value: cmp.Or(value, "1024")})
		switch {
		case n < 0 || n > 1<<40:
			c.fail(&field{name: of}, "%d is not a limit; write less", n)
		case name == "core" && n == 0:
		case name == "nproc":
			c.Flag(of, "pids-limit", strconv.FormatInt(n, 10))
		default:
			c.Flag(of, "ulimit", name+"="+strconv.FormatInt(n*row.unit, 10))
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
