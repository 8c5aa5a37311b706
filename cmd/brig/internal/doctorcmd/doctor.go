// Package doctorcmd has brig doctor.
package doctorcmd

import (
	"context"
	"fmt"
	"strings"

	"brig/cmd/brig/internal/console"
	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/doctor"
)

// exitNoJail is doctor's exit code if a default jail does not work.
const exitNoJail = 1

// diagnosis is the output of `brig doctor --json`.
type diagnosis struct {
	Works    bool             `json:"works"`
	Findings []doctor.Finding `json:"findings"`
}

// Command returns the command.
func Command(open func(cli.Stdio) *console.Console) cli.Command {
	return console.Command[options](cli.Command{Name: "doctor", Args: "[--json|--delegate USER]", About: about,
		What: "say which mechanisms this machine has and what to do about the missing ones"}, open)
}

// options are the flags of doctor.
type options struct {
	asJSON, delegate bool
	user             string // the user to whom root delegates control groups
}

// Flags returns its table.
func (o *options) Flags() []cli.Flag {
	delegate := func(v []string) error {
		o.delegate, o.user = true, v[0]
		return nil
	}
	return []cli.Flag{cli.JSON(&o.asJSON), {Name: "delegate", Args: "USER", Group: "Flags", Set: delegate,
		Help: "print the commands by which root gives USER, a name or a uid, control groups; pipe them into sudo sh"}}
}

const about = "\nExit codes:\n  0    a default jail works here\n" +
	"  1    it does not; a finding with \"fix:\" says what to do\n"

// Run tries jails on this machine and lists the available mechanisms. The exit code is 0 if a default jail works and 1
// if it does not.
func (o *options) Run(list []string, std *console.Console) (int, error) {
	if err := console.NoWords(list, "brig doctor, brig doctor --json or brig doctor --delegate USER"); err != nil {
		return 0, err
	}
	if o.delegate {
		script, err := doctor.DelegateScript(o.user)
		if err != nil {
			return 0, fmt.Errorf("--delegate: %w", err)
		}
		return std.Emit(script), nil
	}
	d := diagnosis{Findings: doctor.Diagnose(nsjail.Examine(context.Background()))}
	for i := range d.Findings {
		f := &d.Findings[i]
		f.Why, f.Fix = f.Why.Worded(std.Words), f.Fix.Worded(std.Words)
	}
	d.Works = doctor.Works(d.Findings)
	code := std.Answer(o.asJSON, d, d.table(console.Colourful(std.Out)))
	if code == 0 && !d.Works {
		code = exitNoJail
	}
	return code, nil
}

// table returns a line for each finding, in columns, followed by its fix and the file to install.
func (d *diagnosis) table(colour bool) string {
	name, state := 0, len(doctor.Present)
	for _, f := range d.Findings {
		name = max(name, len(f.Name))
	}
	var b strings.Builder
	indent := strings.Repeat(" ", name+state+4)
	for _, f := range d.Findings {
		fmt.Fprintf(&b, "%-*s  %s  %s\n", name, f.Name, paint(f.State, state, colour), words.Printable(f.Why.String()))
		if f.Fix != "" {
			b.WriteString(indent + "fix: " + words.Printable(f.Fix.String()) + "\n")
		}
		if f.Text != "" {
			for line := range strings.SplitSeq(strings.TrimSuffix(f.Text, "\n"), "\n") {
				b.WriteString(indent + "| " + words.Printable(line) + "\n")
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

// paint pads a state to the column width and colours it: SGR of ECMA-48.
func paint(s doctor.State, width int, colour bool) string {
	text := fmt.Sprintf("%-*s", width, s)
	code := map[doctor.State]string{doctor.Present: "32", doctor.Partial: "33", doctor.Missing: "31", doctor.Note: "2"}[s]
	if !colour || code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
