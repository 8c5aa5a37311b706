package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brig/internal/cli"
	"brig/nsjail"
)

// builder applies flags to an invocation, in order.
type builder struct {
	inv      *invocation
	read     readFunc
	flag     string // the current flag, for example "--memory"
	fromSpec int    // the number of mounts from --spec
	// unprotected is set by --no-protect without a path.
	unprotected bool
}

func newBuilder(command string, read readFunc) *builder {
	return &builder{inv: &invocation{command: command, reportFD: -1, origin: map[string]string{}}, read: read}
}

// parse parses the command line after run, explain or spec. --spec is applied first. The other flags change its Spec,
// in their order.
func parse(name string, args []string, read readFunc) (inv *invocation, help bool, err error) {
	b := newBuilder(name, read)
	b.inv.args = args
	table := cli.Table{Hints: hints}
	if len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "--" { // without flags the table is not needed
		table.Flags = b.flags()
	}
	list, command, help, err := table.Scan(args)
	if err != nil || help {
		return nil, help, err
	}
	if i := slices.IndexFunc(list, func(g cli.Given) bool { return g.Flag.Name == "spec" }); i > 0 {
		list = slices.Concat(list[i:i+1], list[:i], list[i+1:])
	}
	for _, g := range list {
		b.flag = "--" + g.Flag.Name
		if g.Flag.Path != "" {
			b.inv.origin[g.Flag.Path] = b.flag
		}
		if err := g.Apply(); err != nil {
			return nil, false, fmt.Errorf("%s: %w", b.flag, err)
		}
	}
	if b.inv.spec.Tier == "" {
		b.protectByDefault()
	} else if err := b.atOwnPaths(); err != nil {
		return nil, false, err
	}
	if b.inv.commandWords = len(command); len(command) > 0 {
		b.inv.spec.Args = command
		b.inv.origin["args"] = "command"
	}
	if err := b.inv.checkImage(); err != nil {
		return nil, false, err
	}
	if err := b.inv.checkCommit(); err != nil {
		return nil, false, err
	}
	if name == "explain" && len(b.inv.spec.Args) == 0 && b.inv.origin["seccomp"] != "" {
		b.inv.seccompTable = true
	}
	return b.inv, false, nil
}

// mount adds a mount. It replaces one of the --spec with the same target, since flags change the Spec. Two flags with
// the same target are an error, which Check finds.
func (b *builder) mount(m nsjail.Mount) {
	mounts := b.inv.spec.Mounts
	at := len(mounts)
	for i := range mounts[:min(b.fromSpec, at)] {
		_, byFlag := b.inv.origin[place("mounts", i)]
		if mounts[i].Target == m.Target && !byFlag {
			at = i
		}
	}
	if at == len(mounts) {
		mounts = append(mounts, m)
	}
	mounts[at] = m
	b.inv.spec.Mounts = mounts
	b.inv.origin[place("mounts", at)] = b.flag
}

// add appends to a list of the Spec and records the flag that did.
func (b *builder) add(field string, to *[]string, value string) {
	b.inv.origin[place(field, len(*to))] = b.flag
	*to = append(*to, value)
}

// list returns a setter that appends to a list of the Spec, after change if there is one.
func (b *builder) list(field string, to *[]string, change ...func(string) string) func([]string) error {
	return func(v []string) error {
		value := v[0]
		for _, f := range change {
			value = f(value)
		}
		b.add(field, to, value)
		return nil
	}
}

func place(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }
