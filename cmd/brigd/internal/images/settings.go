package images

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// settings returns what the flags of an image's configuration do. Each may be given more than once.
func (c *command) settings() map[string]func(string) error {
	add := func(change func(*v1.Config)) error {
		c.changes = append(c.changes, change)
		return nil
	}
	text := func(to func(*v1.Config) *string) func(string) error {
		return func(text string) error { return add(func(c *v1.Config) { *to(c) = text }) }
	}
	list := func(to func(*v1.Config) *[]string) func(string) error {
		return func(text string) error {
			var words []string
			if err := json.Unmarshal([]byte(text), &words); err != nil {
				return errors.New(`write a list in JSON: ["python3", "-i"]`)
			}
			return add(func(c *v1.Config) { *to(c) = words })
		}
	}
	pair := func(set func(c *v1.Config, name, value string)) func(string) error {
		return func(text string) error {
			name, value, ok := strings.Cut(text, "=")
			if !ok || name == "" {
				return errors.New("write NAME=VALUE")
			}
			return add(func(c *v1.Config) { set(c, name, value) })
		}
	}
	return map[string]func(string) error{
		"entrypoint": list(func(c *v1.Config) *[]string { return &c.Entrypoint }),
		"cmd":        list(func(c *v1.Config) *[]string { return &c.Cmd }),
		"workdir":    text(func(c *v1.Config) *string { return &c.WorkingDir }),
		"user":       text(func(c *v1.Config) *string { return &c.User }),
		"env":        pair(setEnv),
		"label": pair(func(c *v1.Config, name, value string) {
			if c.Labels == nil {
				c.Labels = map[string]string{}
			}
			c.Labels[name] = value
		}),
	}
}

// setEnv sets a variable in its place, or as the last one.
func setEnv(c *v1.Config, name, value string) {
	i := slices.IndexFunc(c.Env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
	if i < 0 {
		i, c.Env = len(c.Env), append(c.Env, "")
	}
	c.Env[i] = name + "=" + value
}
