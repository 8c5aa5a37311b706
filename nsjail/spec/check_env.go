package spec

import (
	"path"
	"strings"
	"unicode"

	"brig/internal/words"
)

// checkEnv checks the form of the variables. checkArgs checks what execve(2) can carry.
func checkEnv(env []string) (c problems) {
	for i, e := range env {
		field := Index("env", i)
		name, _, ok := strings.Cut(e, "=")
		switch {
		case !ok:
			c.add(field, words.Quote(e)+" has no =", "write NAME=value, or list the name under pass_env")
		case name == "":
			c.add(field, words.Quote(e)+" has no name", "write NAME=value")
		case strings.IndexByte(name, 0) >= 0: // checkArgs reports it
		default:
			c = append(c, checkEnvName(field, name)...)
		}
	}
	return c
}

func checkPassEnv(patterns []string) (c problems) {
	for i, p := range patterns {
		field := Index("pass_env", i)
		if _, err := path.Match(p, ""); err != nil {
			c.add(field, words.Quote(p)+" is not a pattern", `close the [, or write \[ for a plain one`)
		} else if p == "" {
			c.add(field, "is empty", "name a variable, as in LC_ALL or LC_*")
		} else if strings.Contains(p, "=") {
			c.add(field, words.Quote(p)+" has a value", "put it under env")
		} else {
			c = append(c, checkEnvName(field, p)...)
		}
	}
	return c
}

// checkEnvName checks a variable's name. POSIX allows anything but = and NUL; blanks and control bytes are always
// mistakes.
func checkEnvName(field, name string) (c problems) {
	odd := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }
	if c.text(field, name) && strings.ContainsFunc(name, odd) {
		c.add(field, words.Quote(name)+" is not a name: it has a blank or a control byte", "remove that")
	}
	return c
}
