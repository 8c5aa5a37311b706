package isolate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// exitInternal is isolate's exit code for an error that is not the program's.
const exitInternal = 2

// teller writes what a call tells: the meta file, and lines on stderr.
type teller struct {
	report
	std  cli.Stdio
	meta *os.File // nil for none
}

// openMeta opens the meta file. A symbolic link is followed in /dev and /proc only: elsewhere a program may have left
// it. A FIFO must have a reader already: one that a program has left has none.
func (t *teller) openMeta() error {
	switch t.Meta {
	case "":
		return nil
	case "-":
		t.meta = t.std.Out
		return nil
	}
	if err := nsjail.AnswerFile(t.Meta); err != nil {
		return errorf("Failed to open metafile %w", err)
	}
	flags := unix.O_WRONLY | unix.O_CREAT | unix.O_TRUNC | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK
	fd, err := unix.Open(t.Meta, flags, 0o666)
	if err == unix.ELOOP && deviceLink(t.Meta) {
		fd, err = unix.Open(t.Meta, flags&^unix.O_NOFOLLOW, 0o666)
	}
	if err == unix.ENXIO {
		return errorf("Failed to open metafile %s: no process reads this FIFO; start its reader first", words.Quote(t.Meta))
	}
	if err != nil {
		return errorf("Failed to open metafile %s: %w", words.Quote(t.Meta), err)
	}
	t.meta = os.NewFile(uintptr(fd), t.Meta)
	return nil
}

// deviceLink reports whether a path is that of a link that the kernel provides, such as /dev/stdout.
func deviceLink(name string) bool {
	clean := filepath.Clean(name)
	return strings.HasPrefix(clean, "/proc/") ||
		strings.HasPrefix(clean, "/dev/") && !strings.HasPrefix(clean, "/dev/shm/")
}

// write writes lines to the meta file.
func (t *teller) write(lines []string) {
	if t.meta == nil {
		return
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(t.meta, line); err != nil {
			t.say("cannot write the meta file: " + cli.Reason(err))
			return
		}
	}
}

// die reports an error of the sandbox itself.
func (t *teller) die(err error) int {
	line := oneLine(err.Error())
	t.write(internal(line))
	_, _ = fmt.Fprintln(t.std.Err, line) // a closed stderr leaves the exit code
	return exitInternal
}

// say prints a line of --verbose.
func (t *teller) say(line string) {
	if t.Verbose > 0 {
		_, _ = fmt.Fprintln(t.std.Err, oneLine(line))
	}
}

func usage(std cli.Stdio, err error) int {
	_, _ = fmt.Fprintf(std.Err, "%s\nTry 'isolate --help' for more information.\n", oneLine(err.Error()))
	return exitInternal
}

func emit(std cli.Stdio, text string) int {
	if _, err := std.Out.WriteString(text); err != nil {
		_, _ = fmt.Fprintln(std.Err, "cannot write to stdout: "+cli.Reason(err)+"; give it a reader or more room")
		return exitInternal
	}
	return 0
}
