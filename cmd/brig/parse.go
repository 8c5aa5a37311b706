package main

import (
	"fmt"
	"strconv"
	"strings"

	"brig/internal/cli"
	"brig/nsjail"
)

// builder applies flags to an invocation, one after the other.
type builder struct {
	inv      *invocation
	read     readFunc
	flag     string // the flag that is being applied, as "--memory"
	fromSpec int    // how many mounts --spec brought
}

func newBuilder(command string, read readFunc) *builder {
	return &builder{inv: &invocation{command: command, reportFD: -1, origin: map[string]string{}}, read: read}
}

// parse reads the command line that follows run, explain or spec. --spec is applied first. The other flags change
// its Spec, in their order.
func parse(name string, args []string, read readFunc) (inv *invocation, help bool, err error) {
	b := newBuilder(name, read)
	b.inv.args = args
	table := cli.Table{Hints: hints}
	if len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "--" { // without a flag, a start needs no table
		table.Flags = b.flags()
	}
	list, command, help, err := table.Scan(args)
	if err != nil || help {
		return nil, help, err
	}
	for _, first := range []bool{true, false} {
		for i := range list {
			if f := list[i].Flag; (f.Name == "spec") == first {
				b.flag = "--" + f.Name
				if f.Path != "" {
					b.inv.origin[f.Path] = b.flag
				}
				if err := list[i].Apply(); err != nil {
					return nil, false, fmt.Errorf("%s: %w", b.flag, err)
				}
			}
		}
		b.fromSpec = len(b.inv.spec.Mounts)
	}
	if len(command) > 0 {
		b.inv.spec.Args = command
		b.inv.origin["args"] = "command"
	}
	if name == "explain" && len(b.inv.spec.Args) == 0 && b.inv.origin["seccomp"] != "" {
		b.inv.seccompTable = true
	}
	return b.inv, false, nil
}

// mount adds a mount. One of the --spec with the same target gives way, since flags change the Spec; two flags with
// the same target are a slip, which Check finds.
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

// add appends to a list of the Spec and remembers which flag did.
func (b *builder) add(field string, to *[]string, value string) {
	b.inv.origin[place(field, len(*to))] = b.flag
	*to = append(*to, value)
}

func place(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }
