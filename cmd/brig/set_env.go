package main

import (
	"errors"
	"fmt"
	"strings"
)

func setEnv(b *builder, v []string) error {
	name, _, hasValue := strings.Cut(v[0], "=")
	switch {
	case name == "":
		return fmt.Errorf("%s has no name; write NAME=VALUE", show(v[0]))
	case hasValue:
		b.add("env", &b.inv.spec.Env, v[0])
	case strings.ContainsAny(name, `*?[\`):
		return fmt.Errorf("%s is a pattern; write it after --pass-env", show(name))
	default:
		b.add("pass_env", &b.inv.spec.PassEnv, name)
	}
	return nil
}

func setPassEnv(b *builder, v []string) error {
	b.add("pass_env", &b.inv.spec.PassEnv, v[0])
	return nil
}

// maxEnvFile bounds what --env-file reads; execve(2) would take no more than that.
const maxEnvFile = 1 << 20

func setEnvFile(b *builder, v []string) error {
	data, err := b.read(v[0], maxEnvFile)
	if err != nil {
		return err
	}
	file := b.flag + " " + show(v[0])
	b.flag = file
	lines, err := parseEnvFile(string(data))
	if err != nil {
		return err
	}
	for _, l := range lines {
		b.flag = fmt.Sprintf("%s: line %d", file, l.number)
		if strings.Contains(l.text, "=") {
			b.add("env", &b.inv.spec.Env, l.text)
		} else {
			b.add("pass_env", &b.inv.spec.PassEnv, l.text)
		}
	}
	return nil
}

// envLine is a line of an --env-file: NAME=VALUE, or NAME to pass the caller's.
type envLine struct {
	number int
	text   string
}

// parseEnvFile reads docker's form: a variable a line, blanks before the name ignored, # at the start for a comment,
// quotes and blanks in the value kept as they are.
func parseEnvFile(data string) ([]envLine, error) {
	var lines []envLine
	data = strings.TrimPrefix(data, "\ufeff")
	for i, line := range strings.Split(data, "\n") {
		text := strings.TrimLeft(strings.TrimSuffix(line, "\r"), " \t")
		if text == "" || text[0] == '#' {
			continue
		}
		if err := checkEnvLine(text); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		lines = append(lines, envLine{i + 1, text})
	}
	return lines, nil
}

func checkEnvLine(text string) error {
	name, _, hasValue := strings.Cut(text, "=")
	switch {
	case name == "":
		return fmt.Errorf("%s has no name; write NAME=VALUE", show(text))
	case strings.IndexByte(text, 0) >= 0:
		return errors.New("there is a NUL byte, which no variable can hold; remove it")
	case strings.ContainsAny(name, " \t\r\v\f"):
		return fmt.Errorf("there is a blank in the name %s; write NAME=VALUE without blanks around the =", show(name))
	case !hasValue && strings.ContainsAny(name, `*?[\`):
		return fmt.Errorf("%s is a pattern; use --pass-env", show(name))
	}
	return nil
}
