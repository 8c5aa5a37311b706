package nsjail

import (
	"path"
	"strings"
	"unicode"
)

// isolation checks the network and the system-call filter.
func (c *checker) isolation(s *Spec) {
	switch s.Net {
	case "", NetNone, NetLoopback, NetEgress, NetHost:
	default:
		c.add("net", quote(string(s.Net))+" is not a network mode", didYouMean(string(s.Net), []string{"none", "loopback", "egress", "host"}))
	}
	c.network(s)
	// The presets belong to package seccomp, so that an unknown one is found by Resolve.
	if fileProfile(s.Seccomp) {
		c.hostPath("seccomp", s.Seccomp)
	} else {
		c.text("seccomp", s.Seccomp)
	}
}

// mechanisms checks the names under require and optional.
func (c *checker) mechanisms(s *Spec) {
	if len(s.Require)+len(s.Optional) == 0 {
		return
	}
	known, asked := mechanismNames(), s.Limits.asked()
	for _, list := range []struct {
		field string
		names []string
	}{{"require", s.Require}, {"optional", s.Optional}} {
		for i, name := range list.names {
			field := index(list.field, i)
			switch {
			case !contains(known, name):
				c.add(field, quote(name)+" is not a mechanism", didYouMean(name, known))
			case list.field == "require" && contains(s.Optional, name):
				c.add(field, quote(name)+" is also listed under optional", "remove one of the two")
			default:
				if set, onDemand := asked[name]; onDemand && !set && list.field == "require" {
					c.add(field, quote(name)+" is required, and no such limit is set", "set the limit, or remove it here")
				}
			}
		}
	}
}

// env checks the form of the variables; word checks what execve(2) can carry.
func (c *checker) env(s *Spec) {
	for i, e := range s.Env {
		field := index("env", i)
		name, _, ok := strings.Cut(e, "=")
		switch {
		case !ok:
			c.add(field, quote(e)+" has no =", "write NAME=value, or list the name under pass_env")
		case name == "":
			c.add(field, quote(e)+" has no name", "write NAME=value")
		default:
			c.envName(field, name)
		}
	}
	for i, p := range s.PassEnv {
		field := index("pass_env", i)
		if _, err := path.Match(p, ""); err != nil {
			c.add(field, quote(p)+" is not a pattern", `close the [, or write \[ for a plain one`)
		} else if p == "" {
			c.add(field, "is empty", "name a variable, as in LC_ALL or LC_*")
		} else if strings.Contains(p, "=") {
			c.add(field, quote(p)+" has a value", "put it under env")
		} else {
			c.envName(field, p)
		}
	}
}

// envName checks a name. POSIX allows anything but = and NUL; blanks and control bytes are always a slip.
func (c *checker) envName(field, name string) {
	if i := strings.IndexByte(name, 0); i >= 0 && strings.HasPrefix(field, "env") {
		return // word has said it
	}
	if c.text(field, name) && strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		c.add(field, quote(name)+" is not a name: it has a blank or a control byte", "remove that")
	}
}
