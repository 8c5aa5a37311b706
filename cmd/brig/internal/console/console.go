// Package console is the end of brig at which its caller is: the standard streams, messages in the words of the command
// line, and commands that are a table of flags and an act.
package console

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"strings"

	"brig/internal/cli"
	"brig/internal/sys"
	"brig/internal/words"
)

// Console holds the standard streams of a command, and the words for its messages.
type Console struct {
	cli.Stdio
	Words words.Dialect               // flags for the fields that a message refers to
	Help  func(command string) string // returns what brig help COMMAND prints
	Exit  func(code int)              // ends brig, a thread of which may be in a call that does not return
}

// Told returns the message of an error, with flags for the fields that it refers to.
func (c *Console) Told(err error) string { return words.Message(err).In(c.Words) }

// Refuse prints the error of a command, of which names in files may be a part, and returns cli.ExitUsage.
func (c *Console) Refuse(command string, err error) int {
	lines := strings.Split(command+": "+c.Told(err), "\n")
	for i := range lines {
		lines[i] = words.Printable(lines[i])
	}
	return c.Fail(lines...)
}

// Answer writes the output of a command: v as JSON, or text.
func (c *Console) Answer(asJSON bool, v any, text string) int {
	if asJSON {
		var b strings.Builder
		if err := WriteJSON(&b, v); err != nil {
			return c.Fail(err.Error())
		}
		text = b.String()
	}
	return c.Emit(text)
}

// WriteJSON writes JSON whose strings do not steer a terminal: a payload chooses names of files.
func WriteJSON(w io.Writer, v any) error {
	text, err := indented(v, "")
	if err == nil {
		_, err = io.WriteString(w, text+"\n")
	}
	return err
}

// WriteJSONList is WriteJSON for an object whose last field is a list, which v has empty. member returns one of the n
// members; only one at a time is text.
func WriteJSONList(w *bufio.Writer, v any, n int, member func(i int) any) error {
	const end = "]\n}"
	text, err := indented(v, "")
	between, _ := strings.CutSuffix(text, end)
	for i := 0; i < n && err == nil; i++ {
		text, err = indented(member(i), "    ")
		_, _ = w.WriteString(between + "\n    " + text) // Flush returns the error
		between, text = ",", "\n  "+end
	}
	_, _ = w.WriteString(text + "\n")
	return err
}

func indented(v any, prefix string) (string, error) {
	b, err := json.MarshalIndent(v, prefix, "  ")
	lines := strings.Split(string(b), "\n")
	for i := range lines {
		lines[i] = words.JSON(lines[i])
	}
	return strings.Join(lines, "\n"), err
}

// Colourful reports whether f is a terminal and NO_COLOR is not set: https://no-color.org
func Colourful(f *os.File) bool {
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	return sys.IsTerminal(f)
}

// WordedAll returns what enforces each mechanism, with words for the fields that it refers to.
func WordedAll(list map[string]words.Text, in words.Dialect) map[string]words.Text {
	told := make(map[string]words.Text, len(list))
	for name, t := range list {
		told[name] = t.Worded(in)
	}
	return told
}

// WordedEach is WordedAll for a list.
func WordedEach(list []words.Text, in words.Dialect) (told []words.Text) {
	for _, t := range list {
		told = append(told, t.Worded(in))
	}
	return told
}
