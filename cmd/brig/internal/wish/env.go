package wish

import (
	"errors"
	"fmt"
	"strings"

	"brig/internal/cli"
	"brig/internal/words"
)

// envFlags returns the flags for variables, the directory and the identity of the payload.
func envFlags(s *sheet) []cli.Flag {
	return cli.InGroup("Environment and identity", []cli.Flag{
		{Name: "env", Short: 'e', Args: "NAME[=VALUE]", Many: true, Set: s.setEnv,
			Help: "set a variable; the name alone passes the caller's value"},
		{Name: "env-file", Args: "FILE", Many: true, Files: true, Set: s.setEnvFile,
			Help: "set the variables of FILE, one NAME=VALUE a line, as docker reads it"},
		{Name: "pass-env", Args: "NAME|GLOB", Many: true, Set: s.list("pass_env", &s.spec.PassEnv),
			Help: "pass the caller's variables; a glob never matches tokens, keys, passwords and the like"},
		{Name: "bare-env", Path: "bare_env", Set: cli.Switch(&s.spec.BareEnv, true),
			Help: "set no PATH, HOME, LANG and TERM: only the variables that flags name"},
		{Name: "workdir", Short: 'w', Args: "DIR", Path: "workdir", Set: cli.Text(&s.spec.Workdir, "/work"),
			Help: "start in DIR of the jail instead of /work"},
		{Name: "user", Short: 'u', Args: "UID[:GID]", Path: "user", Set: cli.Text(&s.spec.User, "1000:1000"),
			Help: "the payload's ids inside the jail, instead of 1000:1000; outside it stays unprivileged"},
		{Name: "hostname", Args: "NAME", Path: "hostname", Set: cli.Text(&s.spec.Hostname, "brig"),
			Help: "the host name inside the jail, instead of brig"},
	})
}

func (s *sheet) setEnv(v []string) error {
	name, _, hasValue := strings.Cut(v[0], "=")
	switch {
	case name == "":
		return fmt.Errorf("%s has no name; write NAME=VALUE", words.Quote(v[0]))
	case hasValue:
		s.add("env", &s.spec.Env, v[0])
	case strings.ContainsAny(name, `*?[\`):
		return fmt.Errorf("%s is a pattern; write it after --pass-env", words.Quote(name))
	default:
		s.add("pass_env", &s.spec.PassEnv, name)
	}
	return nil
}

// setEnvFile reads docker's format: a variable on each line, blanks before the name ignored, # at the start for a
// comment, quotes and blanks in the value kept. A name alone passes the caller's.
func (s *sheet) setEnvFile(v []string) error {
	data, err := s.readFile(v[0], MaxFile)
	if err != nil {
		return err
	}
	file := s.flag
	for i, line := range strings.Split(strings.TrimPrefix(string(data), "\ufeff"), "\n") {
		text := strings.TrimLeft(strings.TrimSuffix(line, "\r"), " \t")
		if text == "" || text[0] == '#' {
			continue
		}
		s.flag = fmt.Sprintf("%s: line %d", file, i+1)
		if err := checkEnvLine(text); err != nil {
			return err
		}
		if strings.Contains(text, "=") {
			s.add("env", &s.spec.Env, text)
		} else {
			s.add("pass_env", &s.spec.PassEnv, text)
		}
	}
	return nil
}

func checkEnvLine(text string) error {
	name, _, hasValue := strings.Cut(text, "=")
	switch {
	case name == "":
		return fmt.Errorf("%s has no name; write NAME=VALUE", words.Quote(text))
	case strings.IndexByte(text, 0) >= 0:
		return errors.New("there is a NUL byte, which no variable can hold; remove it")
	case strings.ContainsAny(name, " \t\r\v\f"):
		return fmt.Errorf("there is a blank in the name %s; write NAME=VALUE without blanks around the =", words.Quote(name))
	case !hasValue && strings.ContainsAny(name, `*?[\`):
		return fmt.Errorf("%s is a pattern; use --pass-env", words.Quote(name))
	}
	return nil
}
