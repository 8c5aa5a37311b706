package learncmd

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"brig/cmd/brig/internal/outfile"
	"brig/cmd/brig/internal/wish"
	"brig/internal/words"
	"brig/learn"
)

// tell prints the answer, writes the Spec, and returns the exit code.
func (l *learner) tell(found *learned, out *os.File) int {
	if out != nil {
		err := (outfile.File{File: out, Named: true}).Replace(string(found.Spec))
		if err != nil {
			return l.std.Fail("--out: " + err.Error())
		}
	}
	if code := l.std.Answer(l.wish.Output.JSON, found, l.text(found)); code != 0 {
		return code
	}
	return found.ExitCode
}

// text returns the answer for a reader.
func (l *learner) text(f *learned) string {
	var b strings.Builder
	times := words.Plural(f.Runs, "run")
	switch {
	case f.Works && len(f.Flags) == 0:
		fmt.Fprintf(&b, "The command works as it is (%s).\n", times)
	case f.Works:
		fmt.Fprintf(&b, "The command works (%s) with\n\n    %s\n", times, l.line(f))
	case len(f.Flags) > 0:
		fmt.Fprintf(&b, "The command does not work yet (%s, the last ended with %d). Look at these flags, and try", times,
			f.ExitCode)
		fmt.Fprintf(&b, "\n\n    %s\n", l.line(f))
	default:
		fmt.Fprintf(&b, "The command ends with %d (%s), and no flag is known that would help.\n", f.ExitCode, times)
	}
	if len(f.Proposals) > 0 {
		fmt.Fprintf(&b, "\n%-8s %6s  %s\n", "gives", "calls", "flag, and what failed without it")
		for _, p := range f.Proposals {
			note := ""
			if !p.Tried {
				note = " (not tried)"
			}
			fmt.Fprintf(&b, "%-8s %6d  %s%s\n%17s%s %s: %s\n", p.Power, p.Count, shellWords(p.Flag), note, "", p.Call,
				shellWords([]string{p.Path}), p.Errno)
		}
	}
	var rest []string
	for _, p := range f.Unneeded {
		rest = append(rest, fmt.Sprintf("%s %s: %s (%s)", p.Call, shellWords([]string{p.Path}), p.Errno, shellWords(p.Flag)))
	}
	rest = append(rest, folded(f.Withheld)...)
	title := "Not proposed:"
	if f.Works {
		title = "These failed as well, and it works without:"
	}
	const most = 16
	if len(rest) > most {
		rest = append(rest[:most], fmt.Sprintf("and %d more (--json lists them)", len(rest)-most))
	}
	if len(rest) > 0 {
		b.WriteString("\n" + title + "\n  " + strings.Join(rest, "\n  ") + "\n")
	}
	return b.String()
}

// folded returns lines for what is withheld: the first ones of each reason, and the number of the others.
func folded(list []learn.Withheld) (lines []string) {
	const most = 2
	seen := map[words.Text]int{}
	for _, w := range list {
		seen[w.Why]++
	}
	shown := map[words.Text]int{}
	for _, w := range list {
		shown[w.Why]++
		switch n, all := shown[w.Why], seen[w.Why]; {
		case n <= most || all == most+1:
			lines = append(lines, fmt.Sprintf("%s %s: %s (%s)", w.Call, shellWords([]string{w.Path}), w.Errno, w.Why))
		case n == all:
			lines = append(lines, fmt.Sprintf("and %d more: %s (--json lists them)", all-most, w.Why))
		}
	}
	return lines
}

// line returns the command line that the answer stands for, or the one with --spec, if a flag takes the place of one
// that was given or a word has characters that are not printed.
func (l *learner) line(f *learned) string {
	flags := []string{}
	given := l.wish.Line.Flags
	for i := 0; i < len(given); i++ {
		name, _, attached := strings.Cut(given[i], "=")
		switch name {
		case "--out", "--rounds":
			if !attached {
				i++
			}
		case "--include-private", "--try-all", "--json", "--":
		default:
			flags = append(flags, given[i])
		}
	}
	if flags = append(flags, f.Flags...); len(l.wish.Line.Command) > 0 {
		flags = append(append(flags, "--"), l.wish.Line.Command...)
	}
	read := func(string, int) ([]byte, error) { return l.base, nil }
	w, _, err := wish.Parse("run", nil, flags, read)
	switch {
	case err == nil && (w.Image.Name != "" || len(w.Problems(l.std.Words)) == 0) &&
		!slices.ContainsFunc(flags, unprintable):
		return shellWords(append([]string{"brig", "run"}, flags...))
	case l.asked.out == "":
		return "brig run --spec FILE    # which brig learn --out FILE writes"
	}
	return shellWords([]string{"brig", "run", "--spec", l.asked.out})
}

func unprintable(w string) bool { return words.Printable(w) != w }

// shellWords returns words as a shell takes them, in printable characters.
func shellWords(list []string) string {
	var b strings.Builder
	for i, w := range list {
		if i > 0 {
			b.WriteByte(' ')
		}
		plain := w != "" && !strings.ContainsFunc(w, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_./:=,@+%", r)
		})
		switch {
		case plain || w == "" && len(list) == 1:
			b.WriteString(w)
		case !unprintable(w):
			b.WriteString(words.Shell(w))
		default:
			b.WriteString(words.QuoteASCII(w))
		}
	}
	return b.String()
}
