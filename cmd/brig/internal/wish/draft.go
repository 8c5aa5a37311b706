package wish

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"brig/internal/cli"
	"brig/nsjail"
)

// Draft is a wish that flags are being applied to, in order.
type Draft struct {
	wish    Wish
	sheet   sheet
	protect protection
}

// NewDraft returns the wish of a command without flags. read reads the files that flags name.
func NewDraft(command string, read ReadFunc) *Draft {
	d := &Draft{wish: Wish{Command: command, Output: Output{ReportFD: -1}, From: Origin{input: map[string]string{}}}}
	d.sheet = sheet{spec: &d.wish.Spec, from: &d.wish.From, read: read}
	d.protect.sheet = &d.sheet
	return d
}

// mostFlags is no fewer than there are: a larger table would be copied at each start.
const mostFlags = 96

// Flags returns the flag table of run, explain and spec, which applies flags to the draft. The commands take the same
// flags, so that a command line can be explained by changing one word.
func (d *Draft) Flags() []cli.Flag {
	w, s := &d.wish, &d.sheet
	var filter, network *bool
	if w.Command == "explain" {
		filter, network = &w.Tables.Seccomp, &w.Tables.Net
	}
	l := limits{s}
	table := make([]cli.Flag, 0, mostFlags)
	for _, group := range [][]cli.Flag{d.fileFlags(), cli.InGroup("Files", w.Caches.Flags(s.mount)), envFlags(s),
		net{s, &w.Notes}.flags(&w.Output.NetLog, network), isolationFlags(s, filter), l.usual(),
		l.group(d.setSystemdScope), w.Output.flags(s)} {
		table = append(table, group...)
	}
	return table
}

// fileFlags returns the flags for what the payload sees of the host.
func (d *Draft) fileFlags() []cli.Flag {
	s, image := &d.sheet, &d.wish.Image
	etc := cli.Flag{Name: "etc", Args: "NAME", Many: true,
		Set: s.list("etc", &s.spec.Etc, func(name string) string { return strings.TrimPrefix(name, "/etc/") }),
		Help: "show /etc/NAME of the host too, as far as everybody may read it; " +
			"brig doctor lists what programs look for there"}
	commit := cli.Flag{Name: "commit", Args: "NAME", Path: "rootfs.keep", Set: cli.Text(&image.Commit, "app:1"),
		Help: "make the image NAME of --image and what the command has changed in its writable root, if it exits with 0"}
	return cli.InGroup("Files", slices.Concat(mounts{s}.flags(&d.wish.ApplyIfOK), d.protect.flags(), []cli.Flag{etc},
		image.flags(), rootFlags(s), []cli.Flag{commit}))
}

func (d *Draft) setSystemdScope(_ []string) error {
	if !slices.Contains([]string{"run", "learn", "verify"}, d.wish.Command) {
		return errors.New("only brig run, learn and verify make a scope; leave it out")
	}
	d.wish.SystemdScope = true
	return nil
}

// Apply applies a flag, in the caller's words for it.
func (d *Draft) Apply(input string, g cli.Given) error {
	d.sheet.flag = input
	if g.Flag.Path != "" {
		d.sheet.note(g.Flag.Path)
	}
	if err := g.Apply(); err != nil {
		return fmt.Errorf("%s: %w", d.sheet.flag, err)
	}
	return nil
}

// Mount adds a mount, in the caller's words for it.
func (d *Draft) Mount(input string, m nsjail.Mount) {
	d.sheet.flag = input
	d.sheet.mount(m)
}

// Wish returns the wish as it is now.
func (d *Draft) Wish() *Wish { return &d.wish }
