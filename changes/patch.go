package changes

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"brig/internal/words"

	"github.com/rogpeppe/go-internal/diff"
)

// patch writes a change of a regular file or symbolic link in the form of git-diff(1). One of the states may be nil.
func (p *printer) patch(c Change, old, now *State) error {
	from, to := string(c.Path), string(c.Path)
	if c.From != nil {
		from = string(c.From.Path)
	}
	a, b := GitQuote("a/"+from), GitQuote("b/"+to)
	var before, after []byte
	var reason string
	if c.From == nil && (old == nil || now == nil || old.SHA256 != now.SHA256 || old.Target != now.Target) {
		var err error
		if before, after, reason, err = p.texts(c.File, old, now); err != nil {
			return err
		}
	}
	if reason != "" {
		p.note("%s: %s", GitQuote(to), reason)
	}
	p.line(bold, "diff --git "+a+" "+b)
	switch {
	case old == nil:
		p.line(bold, "new file mode "+gitMode(now))
		a = "/dev/null"
	case now == nil:
		p.line(bold, "deleted file mode "+gitMode(old))
		b = "/dev/null"
	case gitMode(old) != gitMode(now):
		p.line(bold, "old mode "+gitMode(old), "new mode "+gitMode(now))
	}
	if c.From != nil {
		p.line(bold, "similarity index 100%", "rename from "+GitQuote(from), "rename to "+GitQuote(to))
		return nil
	}
	if reason != "" {
		if isBinary(before) || isBinary(after) {
			p.line("", "Binary files "+a+" and "+b+" differ")
		}
		return nil
	}
	hunks := unified(before, after)
	if len(hunks) == 0 { // an empty file
		return nil
	}
	for _, line := range []string{"--- " + a, "+++ " + b} {
		if name := line[4:]; strings.Contains(name, " ") && name[0] != '"' {
			line += "\t" // as git ends such a name for patch(1)
		}
		p.line(bold, line)
	}
	for line := range bytes.Lines(hunks) {
		text := strings.TrimSuffix(string(line), "\n")
		p.line(map[byte]string{'@': cyan, '+': green, '-': red}[line[0]], text)
	}
	return nil
}

// gitMode returns the mode as git writes it. The permissions are the real ones: git itself only has 644 and 755.
func gitMode(s *State) string {
	if s.Kind == Symlink {
		return "120000"
	}
	return fmt.Sprintf("100%03o", s.Mode)
}

// texts returns the old and the new text, or the reason why they are not shown.
func (p *printer) texts(f *File, old, now *State) (before, after []byte, reason string, err error) {
	for _, s := range []*State{old, now} {
		if s != nil && s.Size > maxDiff {
			return nil, nil, fmt.Sprintf("too large: %d bytes", s.Size), nil
		}
	}
	switch {
	case old == nil:
	case old.Kind == Symlink:
		before = []byte(old.Target)
	case old.SHA256 == "":
		return nil, nil, "you may not read the old file", nil
	case p.base < 0:
		return nil, nil, "the old file cannot be read", nil
	default:
		before, err = readText(p.base, string(f.Path), old)
		if err == errChanged || missing(err) {
			return nil, nil, "the file of the host is not what the run saw any more", nil
		}
	}
	switch {
	case err != nil || now == nil:
	case now.Kind == Symlink:
		after = []byte(now.Target)
	default:
		after, err = p.layer.text(f)
	}
	if isBinary(before) || isBinary(after) {
		reason = fmt.Sprintf("binary: %d bytes, %d before", len(after), len(before))
	}
	return before, after, reason, err
}

// unified returns the hunks of a unified diff (diff(1), -u). Go's algorithm takes O(n log n) for n lines, whatever they
// are: lines that occur once in both texts are its anchors. git would run with hooks and settings of a directory that a
// payload has written to.
func unified(before, after []byte) []byte {
	text := diff.Diff("a", before, "b", after)
	for range 3 { // diff a b, --- a, +++ b
		_, text, _ = bytes.Cut(text, []byte{'\n'})
	}
	return text
}

// countLines counts the lines that hunks add and remove.
func countLines(hunks []byte) (added, removed int) {
	for line := range bytes.Lines(hunks) {
		switch line[0] {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}

// escaped returns a line for a terminal: what would steer it, turn the direction of writing or is not UTF-8 is escaped.
func escaped(line string) string {
	plain := func(r rune) bool { return r == '\t' || unicode.IsPrint(r) && r != utf8.RuneError }
	if strings.IndexFunc(line, func(r rune) bool { return !plain(r) }) < 0 {
		return line
	}
	parts := strings.Split(line, "\t")
	for i := range parts {
		parts[i] = words.Printable(parts[i])
	}
	return strings.Join(parts, "\t")
}
