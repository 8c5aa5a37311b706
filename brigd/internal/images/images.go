// Package images implements brigd image: it brings images from registries and archives into the store of package image,
// shows and removes them, and makes archives and new images of them.
//
// What it reads is hostile. Indexes, manifests and configurations are bounded and their digests verified; a layer is
// unpacked once its digest has been verified, and used once that of its content has been, too. No address in a manifest
// is followed.
package images

import (
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"brig/brigd/internal/verbs"
	"brig/image"
	"brig/internal/words"
	"brig/layer"
	"brig/nsjail/spec"
)

// Usage is the help text.
//
//go:embed usage.txt
var Usage string

// Run runs brigd image with args, the arguments after these words, and returns the exit code.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := &command{in: stdin, out: stdout, err: stderr, maxBytes: layer.DefaultMaxBytes, maxFiles: layer.DefaultMaxFiles,
		want: v1.Platform{OS: runtime.GOOS, Architecture: runtime.GOARCH}}
	return c.verbs().Main(args, stdout, stderr)
}

// command is one invocation of brigd image.
type command struct {
	in       io.Reader
	out, err io.Writer

	dir                   string
	want                  v1.Platform
	insecure, quiet, json bool
	maxBytes, maxFiles    int64
	layerFD               int64              // 0: standard input
	changes               []func(*v1.Config) // those that the flags make
	store                 *image.Store
	writer                *image.Writer // nil if nothing is to be written
}

// verbs returns the subcommands.
func (c *command) verbs() *verbs.Set {
	s := &verbs.Set{Name: "brigd image", Usage: Usage, Failed: func(err error) (int, string) {
		return verbs.ExitUsage, strings.ReplaceAll(words.Message(err).In(inFlags), "\n", "; ")
	}}
	verb := func(word string, least, most int, args string, run func([]string) error, flags string) {
		s.Verbs = append(s.Verbs, verbs.Verb{Name: word, Args: args, Least: least, Most: most, Flags: "store " + flags,
			Run: func(list []string) (err error) {
				if c.store, err = image.Open(c.dir); err == nil {
					err = run(list)
				}
				if c.writer != nil {
					err = errors.Join(err, c.writer.Close())
				}
				return err
			}})
	}
	const many, bounds = 1 << 20, " max-bytes max-files"
	const config = " env entrypoint cmd workdir user label"
	verb("pull", 1, many, "NAME...", c.pull, "platform insecure quiet"+bounds)
	verb("import", 1, 2, "SOURCE [NAME]", c.importing, "platform quiet"+bounds+config)
	verb("list", 0, 0, "", c.list, "json")
	verb("inspect", 1, many, "NAME...", c.inspect, "json")
	verb("rm", 1, many, "NAME...", c.remove, "")
	verb("prune", 0, 0, "", c.prune, "json")
	verb("export", 2, 2, "NAME oci-archive:FILE, or docker-archive:FILE", c.export, "")
	verb("commit", 2, 2, "BASE NAME <LAYER", c.commit, "layer-fd"+bounds+config)
	c.flags(&s.Flags)
	return s
}

// flags defines the flags of all subcommands.
func (c *command) flags(f *flag.FlagSet) {
	f.StringVar(&c.dir, "store", "", "")
	f.BoolVar(&c.insecure, "insecure", false, "")
	f.BoolVar(&c.quiet, "quiet", false, "")
	f.BoolVar(&c.json, "json", false, "")
	for name, set := range c.settings() {
		f.Func(name, "", set)
	}
	f.Func("platform", "", func(s string) error {
		p, err := v1.ParsePlatform(s)
		if err != nil || p.OS == "" || p.Architecture == "" {
			return errors.New("it is not like linux/amd64 or linux/arm64/v8")
		}
		c.want = *p
		return nil
	})
	f.Func("max-bytes", "", func(s string) error {
		n, err := spec.ParseBytes(s)
		if c.maxBytes = int64(n); err == nil && n == 0 {
			err = errors.New("write at least 1")
		}
		return err
	})
	number := func(least int64, what string, to *int64) func(string) error {
		return func(s string) (err error) {
			if *to, err = strconv.ParseInt(s, 10, 64); err != nil || *to < least {
				return errors.New("write " + what)
			}
			return nil
		}
	}
	f.Func("max-files", "", number(1, "a number of at least 1", &c.maxFiles))
	f.Func("layer-fd", "", number(3, "the number of a descriptor, at least 3; without the flag it is standard input",
		&c.layerFD))
}

// note writes a line to standard error. The result does not depend on whether that can be written.
func (c *command) note(format string, args ...any) {
	fmt.Fprintln(c.err, words.Printable("brigd image: "+fmt.Sprintf(format, args...)))
}

// print writes to standard output.
func (c *command) print(format string, args ...any) error { return verbs.Print(c.out, format, args...) }

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

// setEnv replaces the value of a variable, or appends the variable.
func setEnv(c *v1.Config, name, value string) {
	i := slices.IndexFunc(c.Env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
	if i < 0 {
		i, c.Env = len(c.Env), append(c.Env, "")
	}
	c.Env[i] = name + "=" + value
}

// inFlags is the dialect of this command: a setting is the flag of its name.
func inFlags(r words.Ref) (string, bool) {
	flag := "--" + strings.ReplaceAll(r.Field, "_", "-")
	var value string
	if json.Unmarshal([]byte(r.Value), &value) == nil {
		flag += " " + value
	}
	return flag, true
}
