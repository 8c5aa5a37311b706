package docker

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"brig/cmd/brig/internal/convert"
)

// cpuShares converts a weight for which 1024 is the default to one for which that is 100.
func (l *Line) cpuShares(f *given) {
	if n := l.number(f); n > 0 {
		l.Flag(f.of, "cpu-weight", strconv.Itoa(min(max(n*100/1024, 1), 10000)))
	}
}

// number returns a number that is not negative, or 0 for -1, docker's word for no limit.
func (l *Line) number(f *given) int {
	n, err := strconv.Atoi(f.value)
	if err != nil || n < -1 || n > 1<<31 {
		l.fail(f, errors.New("the value is not a number; write digits"))
	}
	return max(n, 0)
}

// processors converts a quota and a period in microseconds.
func (l *Line) processors() {
	if l.quota == nil || l.number(l.quota) == 0 {
		return // a period alone limits nothing
	}
	period := 100000
	if l.period != nil {
		period = cmp.Or(l.number(l.period), period)
		l.Flag(l.period.of, "cpu-period", strconv.Itoa(period)+"us")
	}
	l.Flag(l.quota.of, "cpus", strconv.FormatFloat(float64(l.number(l.quota))/float64(period), 'g', -1, 64))
}

// oomScore notes a score: a positive one makes the payload the first to be killed.
func (l *Line) oomScore(f *given) {
	if f.value[0] == '-' {
		l.Note(f.of, convert.Missing, "a payload is not spared")
		return
	}
	l.Note(f.of, convert.Weaker, f.Text)
}

func (l *Line) storage(f *given) {
	size, ok := strings.CutPrefix(f.value, "size=")
	if l.rootSize = size; !ok {
		l.Note(f.of, convert.Ignored, "a jail has no storage driver")
	}
}

// securityOpt converts NAME=VALUE, which was NAME:VALUE once.
func (l *Line) securityOpt(f *given) {
	of, v := f.of, f.value
	i := strings.IndexAny(v, "=:")
	name, value := v, ""
	if i >= 0 {
		name, value = v[:i], v[i+1:]
	}
	switch {
	case name == "no-new-privileges" && value != "false":
	case name == "no-new-privileges":
		l.Note(of, convert.Missing, "no_new_privs is always in force")
	case name == "seccomp" && (value == "" || value == "builtin"):
	case name == "seccomp":
		if value != "unconfined" && !strings.Contains(value, "/") {
			value = "./" + value
		}
		l.Flag(of, "seccomp", value)
	case name == "apparmor" && value == "unconfined", name == "label" && value == "disable":
	case name == "apparmor" && value == "docker-default":
		l.Note(of, convert.Weaker, "the jail's own fences stand in for docker's profile; write --apparmor PROFILE for one "+
			"that the host has loaded")
	case name == "apparmor":
		l.Flag(of, "apparmor", value)
	case name == "label":
		l.Note(of, convert.Weaker, "brig takes no part of a context; write --selinux-label USER:ROLE:TYPE[:LEVEL]")
	case v == "systempaths=unconfined":
		l.Note(of, convert.Missing, "the sensitive files of /proc stay masked")
	case name == "writable-cgroups":
		l.Note(of, convert.Missing, "a jail shows no control groups")
	default:
		l.Note(of, convert.Unknown, "brig does not know this option")
	}
}

// maxPorts is how many ports a jail can publish.
const maxPorts = 16

// publish converts [[IP:]HOST:]JAIL[/PROTOCOL], in which the ports may be ranges.
func (l *Line) publish(f *given) {
	of, v := f.of, f.value
	ports, protocol, has := strings.Cut(v, "/")
	if has && protocol != "tcp" {
		l.Note(of, convert.Missing, "only tcp can be published")
		return
	}
	at := strings.LastIndexByte(ports, ':')
	if at < 0 || at == 0 || ports[at-1] == ':' {
		l.Note(of, convert.Missing, "docker chooses a port of the host; write --publish HOST:JAIL")
		return
	}
	address, host, jail := "0.0.0.0", ports[:at], ports[at+1:] // where docker listens by default
	if at := strings.LastIndexByte(host, ':'); at >= 0 {
		address, host = host[:at], host[at+1:]
	}
	first, last, err := portRange(host)
	to, end, jailErr := portRange(jail)
	if err != nil || jailErr != nil || last-first != end-to || last-first >= maxPorts {
		l.ports = append(l.ports, convert.Step{Of: of, Flag: "publish", Values: []string{v}}) // its check tells what is wrong
		return
	}
	for i := range last - first + 1 {
		l.ports = append(l.ports, convert.Step{Of: of, Flag: "publish",
			Values: []string{fmt.Sprintf("%s:%d:%d", address, first+i, to+i)}})
	}
}

// portRange reads a port, or FIRST-LAST.
func portRange(s string) (first, last int, err error) {
	a, b, two := strings.Cut(s, "-")
	if !two {
		b = a
	}
	if first, err = strconv.Atoi(a); err == nil {
		last, err = strconv.Atoi(b)
	}
	if err == nil && last < first {
		err = strconv.ErrRange
	}
	return first, last, err
}
