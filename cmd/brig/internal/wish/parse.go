package wish

import (
	"slices"
	"strings"

	"brig/internal/cli"
)

// Parse parses the command line after a command, which has flags of its own besides those of all. --spec is applied
// first. The other flags change its Spec, in their order.
func Parse(command string, own []cli.Flag, args []string, read ReadFunc) (w *Wish, help bool, err error) {
	d := NewDraft(command, read)
	table := cli.Table{Hints: Hints}
	if len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "--" { // without flags the table is not needed
		table.Flags = append(d.Flags(), own...)
	}
	list, payload, help, err := table.Scan(args)
	if err != nil || help {
		return nil, help, err
	}
	if i := slices.IndexFunc(list, func(g cli.Given) bool { return g.Flag.Name == "spec" }); i > 0 {
		list = slices.Concat(list[i:i+1], list[:i], list[i+1:])
	}
	for _, g := range list {
		if err := d.Apply("--"+g.Flag.Name, g); err != nil {
			return nil, false, err
		}
	}
	flags := len(args) - len(payload)
	d.wish.Line = Line{args[:flags], args[flags:]}
	if err := d.finish(payload); err != nil {
		return nil, false, err
	}
	return &d.wish, false, nil
}

// finish draws the consequences of all flags, and refuses those of an image that contradict each other.
func (d *Draft) finish(payload []string) error {
	w := &d.wish
	if w.Spec.Tier == "" {
		d.protect.byDefault()
	}
	if err := w.Caches.Finish(&w.Spec); err != nil { // it asks what is protected
		return err
	}
	if w.Spec.Tier != "" {
		if err := d.sheet.atOwnPaths(); err != nil {
			return err
		}
	}
	if len(payload) > 0 {
		w.Spec.Args = payload
		w.From.Set("args", "command")
	}
	if err := w.Image.check(&w.Spec, &w.From); err != nil {
		return err
	}
	if err := w.Image.checkCommit(&w.Spec.Rootfs); err != nil {
		return err
	}
	if w.Command == "explain" && len(w.Spec.Args) == 0 && w.From.Of("seccomp") != "" {
		w.Tables.Seccomp = true
	}
	return nil
}
