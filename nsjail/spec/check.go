package spec

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"brig/internal/words"
)

// Limits of the kernel that Check applies, so that a bad Spec fails before anything is created.
const (
	maxMounts   = 128
	maxArgBytes = 128 << 10 // MAX_ARG_STRLEN of execve(2), with the closing NUL
	maxPath     = 4096      // PATH_MAX, with the closing NUL
	maxName     = 255       // NAME_MAX
	maxHostname = 64        // HOST_NAME_MAX: uts_namespaces(7)
	maxID       = 1<<32 - 2 // 2^32-1 means "no change" in chown(2) and setresuid(2)
)

// Check returns everything in the Spec that is wrong on any machine. It reads no file and no setting; Resolve reports
// what the host lacks. Arguments, values of variables and paths of the host may hold any byte but NUL, as Linux allows.
// Names with a meaning inside the jail must be UTF-8.
func (s *Spec) Check() []Problem {
	c := &checker{}
	c.args(s)
	c.env(s)
	c.identity(s)
	c.rootfs(s.Rootfs)
	c.scratch(s)
	c.mounts(s.Mounts)
	c.protect(s)
	c.git(s)
	c.etcNames(s)
	c.isolation(s)
	c.tier(s)
	c.labels(s)
	c.limits(&s.Limits)
	c.cgroupParent(s.CgroupParent)
	c.rlimits(s)
	c.mechanisms(s)
	return c.problems
}

// checker collects problems, so that one call reports them all.
type checker struct{ problems []Problem }

func (c *checker) add(path, reason, fix string) {
	c.problems = append(c.problems, Problem{Path: path, Reason: reason, Fix: words.Plain(fix)})
}

// bytes rejects a string with a NUL, which no system call can carry.
func (c *checker) bytes(path, value string) bool {
	if i := strings.IndexByte(value, 0); i >= 0 {
		c.add(path, fmt.Sprintf("%s has a NUL byte at offset %d, which no system call can carry", words.Quote(value), i),
			"remove it")
		return false
	}
	return true
}

// text rejects a string that no system call or no JSON can carry.
func (c *checker) text(path, value string) bool {
	if !c.bytes(path, value) {
		return false
	}
	if !utf8.ValidString(value) {
		c.add(path, words.Quote(value)+" is not UTF-8", "write it in UTF-8")
		return false
	}
	return true
}

func (c *checker) args(s *Spec) {
	if len(s.Args) == 0 {
		c.add("args", "there is no command to run", `name one, as in ["id"]`)
		return
	}
	if s.Args[0] == "" {
		c.add("args[0]", "the command is empty", "name a program")
	}
	total := 0
	for i, a := range s.Args {
		total += len(a) + 1 + 8 // execve(2) counts each string with its NUL and a pointer
		c.word(Index("args", i), a)
	}
	for i, e := range s.Env {
		total += len(e) + 1 + 8
		if at := strings.IndexByte(e, 0); at >= 0 { // the value may be a secret
			name, _, _ := strings.Cut(e, "=")
			c.add(Index("env", i), fmt.Sprintf("%s has a NUL byte at offset %d, which no system call can carry",
				words.Quote(name), at), "remove it")
			continue
		}
		c.word(Index("env", i), e)
	}
	if most := argMax(s.Limits.Rlimits); total > most {
		c.add("args", fmt.Sprintf("arguments and environment take %d bytes, and execve(2) takes at most %d (E2BIG)", total,
			most),
			"pass the data in a file or on stdin")
	}
}

// word checks one string for execve(2).
func (c *checker) word(path, value string) {
	if len(value) >= maxArgBytes {
		c.add(path, fmt.Sprintf("%d bytes is more than the %d that execve(2) takes in one string (E2BIG)", len(value),
			maxArgBytes-1),
			"pass the data in a file or on stdin")
		return
	}
	c.bytes(path, value)
}

// argMax returns the size limit of execve(2) for all arguments: a quarter of the soft stack limit, at least 128 KiB and
// at most 6 MiB, minus a page for the file name.
func argMax(rlimits map[string]Rlimit) int {
	stack, ok := rlimits["stack"]
	if !ok {
		stack = DefaultRlimits["stack"]
	}
	if stack.Soft < 0 {
		return 6<<20 - 4096
	}
	return int(min(max(stack.Soft/4, 128<<10), 6<<20)) - 4096
}

func (c *checker) identity(s *Spec) {
	if s.Workdir != "" && c.text("workdir", s.Workdir) {
		c.cleanPath("workdir", s.Workdir)
	}
	if s.User != "" {
		if _, _, err := ParseUser(s.User); err != nil {
			c.add("user", err.Error(), `write UID[:GID] in digits, as in "1000:1000"`)
		}
	}
	if s.Hostname != "" && c.text("hostname", s.Hostname) {
		c.hostname(s.Hostname)
	}
}

func (c *checker) hostname(name string) {
	switch {
	case len(name) > maxHostname:
		c.add("hostname", fmt.Sprintf("%s is longer than %d bytes", words.Quote(name), maxHostname), "shorten it")
	case strings.Trim(name, hostnameBytes) != "" || strings.IndexByte("-.", name[0]) >= 0:
		c.add("hostname", words.Quote(name)+" is not a host name",
			"use letters, digits, - and ., and begin with a letter or digit")
	}
}

const hostnameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-"

// cleanPath checks a path inside the jail and reports whether it is usable.
func (c *checker) cleanPath(field, p string) bool {
	switch clean := path.Clean("/" + p); {
	case p == "":
		c.add(field, "is empty", `write an absolute path, as in "/data"`)
	case len(p) >= maxPath:
		c.add(field, fmt.Sprintf("%s is longer than %d bytes", words.Quote(p), maxPath-1), "shorten it")
	case !path.IsAbs(p):
		c.add(field, words.Quote(p)+" is not absolute", "write "+words.Quote(clean))
	case p != clean:
		c.add(field, words.Quote(p)+" is not a clean path", "write "+words.Quote(clean))
	default:
		for _, name := range strings.Split(p, "/") {
			if len(name) > maxName {
				c.add(field, fmt.Sprintf("%s is longer than the %d bytes of a file name", words.Quote(name), maxName), "shorten it")
				return false
			}
		}
		return true
	}
	return false
}

// ParseUser parses "UID[:GID]". The GID defaults to the UID. Names are rejected: the jail has its own /etc/passwd,
// which is generated from these numbers.
func ParseUser(s string) (uid, gid uint32, err error) {
	first, second, two := strings.Cut(s, ":")
	if !two {
		second = first
	}
	ids := [2]uint32{}
	for i, t := range []string{first, second} {
		v, err := strconv.ParseUint(t, 10, 32)
		if err != nil || strings.TrimLeft(t, "0123456789") != "" {
			return 0, 0, fmt.Errorf("%s is not a number (user and group names are not looked up)", words.Quote(t))
		}
		if v > maxID {
			return 0, 0, fmt.Errorf("%s is more than %d", words.Quote(t), uint32(maxID))
		}
		ids[i] = uint32(v)
	}
	return ids[0], ids[1], nil
}

// Index returns the path of a list element: "mounts[3]".
func Index(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }
