// Package convertcmd has brig convert.
package convertcmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"brig/cmd/brig/internal/bwrap"
	"brig/cmd/brig/internal/console"
	"brig/cmd/brig/internal/convert"
	"brig/cmd/brig/internal/convert/docker"
	nsjailcfg "brig/cmd/brig/internal/convert/nsjail"
	"brig/cmd/brig/internal/isolate"
	"brig/cmd/brig/internal/wish"
	"brig/image"
	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// conversion is a call of brig convert.
type conversion struct {
	json  bool
	store string
	std   *console.Console
}

func (c *conversion) flags() []cli.Flag {
	return cli.InGroup("Flags", []cli.Flag{
		{Name: "json", Set: cli.Switch(&c.json, true),
			Help: "print an object with the spec and the notes on what has no counterpart"},
		{Name: "image-store", Args: "DIR", Files: true, Set: cli.Text(&c.store, "./images"),
			Help: "look for the image, whose entrypoint is part of the command, in DIR instead of the caller's store"},
	})
}

const convertUse = "docker|compose|nsjail|bwrap|isolate ARG [ARG...]"

// Command returns the command.
func Command(open func(cli.Stdio) *console.Console) cli.Command {
	run := func(args []string, std cli.Stdio) int { return convertArgs(args, open(std)) }
	return cli.Command{Name: "convert", Args: convertUse, Run: run, Flags: new(conversion).flags,
		About: convertAbout, What: "print the spec that means the same as the words of another tool"}
}

const convertAbout = `
What has no counterpart is listed on stderr: "weaker" is what the other tool holds and the
jail does not, "unknown" what cannot be known here, "missing" what the payload lacks,
"ignored" what no run can tell. The exit status is 1 after something weaker or unknown; the
spec is printed anyway.

  brig convert docker run --rm python:3.12 python x.py >job.json && brig run --spec job.json
  brig convert compose compose.yaml SERVICE >job.json
  brig convert nsjail jail.cfg -- COMMAND >job.json
`

func convertArgs(args []string, std *console.Console) int {
	c := &conversion{std: std}
	rest, help, err := (&cli.Table{Flags: c.flags(), Hints: wish.Hints}).Parse(args)
	switch {
	case help:
		return std.Emit(std.Help("convert"))
	case err == nil && len(rest) == 0:
		err = errors.New("there is nothing to convert; write brig convert " + convertUse)
	}
	var j *convert.Jail
	var spec *nsjail.Spec
	if err == nil {
		j, err = c.dialect(rest)
	}
	if err == nil {
		spec, err = c.spec(j)
	}
	if err == nil {
		return c.print(j, spec)
	}
	lines := strings.Split(err.Error(), "\n")
	for i := range lines {
		lines[i] = "convert: " + lines[i]
	}
	return std.Fail(lines...)
}

// dialect converts words, the first of which names the tool.
func (c *conversion) dialect(args []string) (*convert.Jail, error) {
	tool, rest := filepath.Base(args[0]), args[1:]
	switch {
	case tool == "sudo" && len(rest) > 0:
		return c.dialect(rest)
	case tool == "docker" || tool == "podman":
		return docker.Convert(rest)
	case tool == "compose":
		return c.compose(rest)
	case tool == "isolate":
		return isolate.Convert(rest)
	case tool == "bwrap":
		return bwrap.Convert(rest, readFD)
	case tool == "nsjail":
		return c.nsjail(rest)
	case strings.HasSuffix(tool, ".cfg"):
		return c.nsjail(args)
	case strings.HasSuffix(tool, ".yaml") || strings.HasSuffix(tool, ".yml"):
		return c.compose(args)
	}
	return nil, fmt.Errorf("%s is not a tool whose words are known; write brig convert %s", words.Quote(args[0]),
		convertUse)
}

// nsjail converts [--config] FILE [-- COMMAND].
func (c *conversion) nsjail(args []string) (*convert.Jail, error) {
	if len(args) > 0 && (args[0] == "--config" || args[0] == "-C") {
		args = args[1:]
	}
	if len(args) == 0 || len(args[0]) > 1 && args[0][0] == '-' || len(args) > 1 && args[1] != "--" {
		return nil, errors.New("nsjail takes a file, since its fields are nsjail's flags; write brig convert nsjail FILE " +
			"[-- COMMAND]")
	}
	data, err := wish.FileReader(c.std.In)(args[0], wish.MaxFile)
	if err != nil {
		return nil, err
	}
	j, err := nsjailcfg.Convert(string(data), args[min(len(args), 2):])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", words.Quote(args[0]), err)
	}
	return j, nil
}

// readFD reads the words of bwrap --args.
func readFD(fd int) ([]byte, error) {
	return wish.FileReader(os.NewFile(uintptr(fd), "--args"))("-", spec.MaxSpecSize)
}

// print writes the Spec and the notes, and returns 1 if the jail holds less than the original, or may do so.
func (c *conversion) print(j *convert.Jail, spec *nsjail.Spec) int {
	if !c.json {
		for _, n := range j.Notes {
			c.std.Say("%s", n)
		}
	}
	answer := struct {
		Spec  *nsjail.Spec   `json:"spec"`
		Notes []convert.Note `json:"notes"`
	}{spec, append([]convert.Note{}, j.Notes...)}
	if code := c.std.Answer(c.json, answer, string(spec.JSON())); code != 0 {
		return code
	}
	if j.Less() {
		return 1
	}
	return 0
}

// spec performs the steps, as if they were flags of brig spec, and checks the result.
func (c *conversion) spec(j *convert.Jail) (*nsjail.Spec, error) {
	d := wish.NewDraft("spec", wish.FileReader(c.std.In))
	w := d.Wish()
	s := &w.Spec
	*s = j.Base
	table := d.Flags()
	for _, step := range j.Steps {
		of := words.Quote(step.Of)
		if step.Mount != nil {
			d.Mount(of, *step.Mount)
			continue
		}
		f, _, _ := cli.Lookup(table, "--"+step.Flag)
		g := cli.Given{Flag: f, Values: step.Values, Bare: len(step.Values) == 0 && f.Bare != nil}
		if err := d.Apply(of, g); err != nil {
			return nil, err
		}
	}
	if err := c.command(j, s); err != nil {
		return nil, err
	}
	if lines := c.problems(w, j.Image != ""); len(lines) > 0 {
		return nil, errors.New(strings.Join(lines, "\n"))
	}
	if bad := s.NotUTF8(); len(bad) > 0 {
		return nil, errors.New(w.Translate(bad[0], c.std.Words))
	}
	s.Rootfs.Image = j.Image
	return s, nil
}

// command sets the command, which begins with the entrypoint of the image if that is in the store.
func (c *conversion) command(j *convert.Jail, s *nsjail.Spec) error {
	s.Args = slices.Concat(j.Entrypoint, j.Args)
	if j.Image == "" {
		return nil
	}
	if _, err := image.ParseName(j.Image); err != nil {
		return err
	}
	if j.Entrypoint != nil && len(s.Args) == 0 {
		return errors.New("there is neither an entrypoint nor a command; write the command after the image")
	}
	if j.Entrypoint != nil || len(j.Args) == 0 {
		return nil
	}
	store, err := image.Open(c.store)
	if err != nil {
		return err
	}
	m, err := store.Lookup(j.Image)
	switch {
	case errors.Is(err, image.ErrNotFound):
		j.Note("image "+j.Image, convert.Unknown, "it is not in the store, so the command is without its entrypoint, if it "+
			"has one; run brig image pull "+words.Quote(j.Image)+" and convert again, or write an entrypoint, which may be "+
			"empty")
		return nil
	case err != nil:
		return err
	}
	s.Args = slices.Concat(m.Config.Entrypoint, j.Args)
	return nil
}

// problems checks the Spec of a conversion. One that waits for its image has no root yet, and names of users are
// looked up there.
func (c *conversion) problems(w *wish.Wish, image bool) []string {
	s := &w.Spec
	root, user := s.Rootfs.Path, s.User
	if image {
		s.Rootfs.Path = "/"
		if strings.Trim(user, "0123456789:") != "" {
			s.User = ""
		}
	}
	lines := w.Problems(c.std.Words)
	s.Rootfs.Path, s.User = root, user
	return lines
}
