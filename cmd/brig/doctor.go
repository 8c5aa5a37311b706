package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"unicode"

	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// exitNoJail is doctor's exit code where a default jail does not work.
const exitNoJail = 1

// diagnosis is the answer of `brig doctor --json`.
type diagnosis struct {
	Works    bool             `json:"works"`
	Findings []nsjail.Finding `json:"findings"`
}

func doctorCmd(args []string, std stdio) int {
	list, words, help, err := scan(plainFlags("doctor"), args)
	switch {
	case err != nil:
		return fail(std, strings.Split("doctor: "+err.Error(), "\n")...)
	case help:
		return emit(std, commandHelp("doctor"))
	case len(words) > 0:
		return fail(std, "doctor: "+show(words[0])+" is not wanted; "+
			"write brig doctor, brig doctor --json or brig doctor --delegate USER")
	}
	asJSON := false
	for _, g := range list {
		if g.flag.name == "delegate" {
			script, err := nsjail.DelegateScript(g.values[0])
			if err != nil {
				return fail(std, "doctor: --delegate: "+err.Error())
			}
			return emit(std, script)
		}
		asJSON = true
	}
	return doctor(asJSON, std)
}

// doctor is `brig doctor`: it tries jails on this machine and says what it has. The exit code is 0 if a default jail
// works and 1 if it does not.
func doctor(asJSON bool, std stdio) int {
	d := diagnosis{Findings: nsjail.Diagnose(nsjail.Examine(context.Background()))}
	d.Works = nsjail.Works(d.Findings)
	text := d.table(colourful(std.out))
	if asJSON {
		b, err := json.MarshalIndent(d, "", "  ")
		if err != nil {
			return fail(std, "doctor: "+err.Error())
		}
		text = string(b) + "\n"
	}
	if code := emit(std, text); code != 0 {
		return code
	}
	if !d.Works {
		return exitNoJail
	}
	return 0
}

// colourful says whether a stream is a terminal whose user has not refused colour: https://no-color.org
func colourful(f *os.File) bool {
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// table is a line for each finding, in columns, with the fix and the file to install below it.
func (d *diagnosis) table(colour bool) string {
	name, state := 0, len(nsjail.Present)
	for _, f := range d.Findings {
		name = max(name, len(f.Name))
	}
	var b strings.Builder
	indent := strings.Repeat(" ", name+state+4)
	for _, f := range d.Findings {
		fmt.Fprintf(&b, "%-*s  %s  %s\n", name, f.Name, paint(f.State, state, colour), printable(f.Why))
		if f.Fix != "" {
			b.WriteString(indent + "fix: " + printable(f.Fix) + "\n")
		}
		if f.Text != "" {
			for _, line := range strings.Split(strings.TrimSuffix(f.Text, "\n"), "\n") {
				b.WriteString(indent + "| " + printable(line) + "\n")
			}
		}
	}
	verdict := "a default jail works here"
	if !d.Works {
		verdict = "a default jail does not work here; the fixes are above"
	}
	b.WriteString("\n" + verdict + "\n")
	return b.String()
}

// paint pads a state to its column and colours it: SGR of ECMA-48.
func paint(s nsjail.State, width int, colour bool) string {
	text := fmt.Sprintf("%-*s", width, s)
	code := map[nsjail.State]string{nsjail.Present: "32", nsjail.Partial: "33", nsjail.Missing: "31", nsjail.Note: "2"}[s]
	if !colour || code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// printable escapes what could steer a terminal; the rest of a line stays as it is.
func printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
