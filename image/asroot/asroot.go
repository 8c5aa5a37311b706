// Package asroot makes an image the root of a jail: the command, variables, directory and user of the image's
// configuration, or those of the caller instead, become a Spec. Images are the work of strangers. All that is read of
// one is bounded and checked, and what is wrong is an error that names the image and the field.
package asroot

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"brig/image"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// Bounds of an image's configuration: of each of Env, Entrypoint and Cmd.
const (
	maxItems = 1024    // variables or words
	maxText  = 1 << 20 // bytes
)

// Options are the settings of the caller that replace those of the image.
type Options struct {
	// Entrypoint, if it is not nil, replaces the image's Entrypoint, and its Cmd too. "" is none.
	Entrypoint *string
	// Command replaces the image's Cmd. If Spec.Args is set, it is the whole command, and nothing is added to it.
	Command []string
	// KeepHome leaves HOME to the jail. Otherwise it is that of the user in the image's /etc/passwd, or "/".
	KeepHome bool
}

// Apply makes an image the root of a Spec. The Spec's own Args, Env, Workdir and User come before the image's, so that
// to apply the same image again changes nothing. User may be names, which are looked up in the image; without one it is
// the image's, and then 0:0. It reads /etc/passwd and /etc/group of the image and nothing else.
func Apply(s *nsjail.Spec, m *image.Image, o Options) error {
	p := &starter{Spec: *s, image: m}
	for _, step := range []func(Options) error{p.command, p.variables, p.workdir, p.user} {
		if err := step(o); err != nil {
			return fmt.Errorf("the image %s: %w", label(m), err)
		}
	}
	if p.Rootfs.Path = m.Tree; !strings.HasSuffix(p.Rootfs.Image, "@"+m.Digest) {
		p.Rootfs.Image = label(m)
	}
	*s = p.Spec
	return nil
}

// label returns the name by which an image was found, if any, with its digest: python:3.12-slim@sha256:HEX.
func label(m *image.Image) string {
	if len(m.Names) == 0 {
		return m.Digest
	}
	name, _, _ := strings.Cut(m.Names[0], "@")
	if n, err := image.ParseName(name); err == nil && n.Digest == "" {
		name = n.Familiar()
	}
	return name + "@" + m.Digest
}

type starter struct {
	nsjail.Spec
	image *image.Image
}

func (p *starter) command(o Options) error {
	if len(p.Args) > 0 {
		return nil
	}
	c := &p.image.Config
	entrypoint, cmd := c.Entrypoint, c.Cmd
	if o.Entrypoint != nil {
		if entrypoint, cmd = []string{*o.Entrypoint}, nil; *o.Entrypoint == "" {
			entrypoint = nil
		}
	}
	if len(o.Command) > 0 {
		cmd = nil
	}
	noNUL := func(word string) string {
		if strings.IndexByte(word, 0) >= 0 {
			return "has a NUL byte, which no argument can have"
		}
		return ""
	}
	remedy := "write the command, and " + words.Set("entrypoint", "''")
	err := check("Entrypoint", "words", remedy, entrypoint, noNUL)
	if err == nil {
		err = check("Cmd", "words", remedy, cmd, noNUL)
	}
	if err != nil {
		return err
	}
	p.Args = slices.Concat(entrypoint, cmd, o.Command)
	return nil
}

// variables adds the image's variables, except those that the Spec sets or passes on.
func (p *starter) variables(Options) error {
	list := p.image.Config.Env
	err := check("Env", "variables", "use another image", list, func(e string) string {
		if name, _, ok := strings.Cut(e, "="); !ok || !isName(name) || strings.IndexByte(e, 0) >= 0 {
			return "is not NAME=VALUE without blanks in the name and NUL bytes"
		}
		return ""
	})
	if err != nil {
		return err
	}
	passed, err := spec.PassEnv(p.PassEnv, os.Environ())
	if err != nil {
		return err
	}
	have := map[string]bool{}
	for _, e := range slices.Concat(passed, p.Env) {
		name, _, _ := strings.Cut(e, "=")
		have[name] = true
	}
	p.Env = slices.Clip(p.Env)
	for _, e := range list {
		if name, _, _ := strings.Cut(e, "="); !have[name] {
			p.Env = append(p.Env, e)
		}
	}
	return nil
}

// check checks a list of the configuration: its length, its bytes, and each item by wrong, which returns "" or what is
// wrong.
func check(field, noun string, remedy words.Text, list []string, wrong func(string) string) error {
	if len(list) > maxItems {
		return words.Error(words.Textf("%s has %d %s, more than %d; %s", field, len(list), noun, maxItems, remedy))
	}
	total := 0
	for i, item := range list {
		if total += len(item); total > maxText {
			return words.Error(words.Textf("%s has more than %d bytes; %s", field, maxText, remedy))
		}
		if why := wrong(item); why != "" {
			return words.Error(words.Textf("%s[%d] %s %s; %s", field, i, words.Quote(item), why, remedy))
		}
	}
	return nil
}

// isName reports whether a name of a variable is printable ASCII without blanks.
func isName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || r == '=' })
}

func (p *starter) workdir(Options) error {
	if p.Workdir != "" {
		return nil
	}
	if slices.ContainsFunc(p.Mounts, func(m nsjail.Mount) bool { return m.Target == spec.DefaultWorkdir }) {
		p.Workdir = spec.DefaultWorkdir // --work
		return nil
	}
	dir := p.image.Config.WorkingDir
	// a relative one is below /, as with docker; ".." leads no further than there
	p.Workdir = path.Clean("/" + dir)
	if len(dir) > maxPath || strings.ContainsFunc(dir, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return words.Error(words.Textf("WorkingDir %s is too long or has control characters; write %s", words.Quote(dir),
			words.Set("workdir", "DIR")))
	}
	return nil
}

const maxPath = 4095

// user sets the user and, unless there is one, HOME.
func (p *starter) user(o Options) error {
	asked, whose := p.User, words.Field("user")
	if asked == "" {
		asked, whose = p.image.Config.User, "User"
	}
	a, err := openAccounts(p.image.Tree)
	if err != nil {
		return err
	}
	defer a.close()
	u, err := a.find(asked)
	if err != nil {
		return fmt.Errorf("%w %s: %w", words.Error(whose), words.Quote(asked), err)
	}
	p.User = fmt.Sprintf("%d:%d", u.uid, u.gid)
	if !o.KeepHome && !slices.ContainsFunc(p.Env, func(e string) bool { return strings.HasPrefix(e, "HOME=") }) {
		p.Env = append(p.Env, "HOME="+u.home)
	}
	return nil
}
