package program

import (
	"fmt"
	"strconv"
	"strings"
)

// maxShown bounds how much of a string or list String prints.
const maxShown = 120

func quote(s string) string {
	if len(s) > maxShown {
		return strconv.QuoteToASCII(s[:maxShown]) + "…"
	}
	return strconv.QuoteToASCII(s)
}

func showString(b []byte) string { return quote(string(b[:len(b)-1])) }

func showLength(b []byte) string { return fmt.Sprintf("[%d bytes]", len(b)) }

func quoteList(ss []string) string {
	var q []string
	n := 0
	for i, s := range ss {
		if n += len(s); n > maxShown {
			q = append(q, fmt.Sprintf("…%d more", len(ss)-i))
			break
		}
		q = append(q, quote(s))
	}
	return "[" + strings.Join(q, ", ") + "]"
}

// String formats the argument as strace(1) would.
func (a Arg) String() string {
	switch {
	case a.text != "":
		return a.text
	case a.kind == kData && a.data.show != nil:
		return a.data.show(a.data.bytes)
	case a.kind == kData: // Strs
		return quoteList(a.data.list)
	case a.kind == kSlot:
		return "$" + strconv.Itoa(int(a.val))
	case int64(a.val) < 0 || a.val < 4096:
		return strconv.FormatInt(int64(a.val), 10)
	}
	return "0x" + strconv.FormatUint(a.val, 16)
}

// Call formats the operation without its label: name(arguments) = $slot.
func (o *Op) Call() string {
	args := make([]string, len(o.Args))
	for i := range o.Args {
		args[i] = o.Args[i].String()
	}
	s := Name(o.NR) + "(" + strings.Join(args, ", ") + ")"
	if o.Save >= 0 {
		s += " = $" + strconv.Itoa(int(o.Save))
	}
	if o.Trial {
		s += " or go on"
	}
	return s
}

// String returns the whole list, with a numbered line for each operation.
func (p *Program) String() string {
	var b strings.Builder
	for i := range p.Ops {
		fmt.Fprintf(&b, "%4d  %-9s %s\n", i+1, p.Ops[i].Label, p.Ops[i].Call())
	}
	return b.String()
}
