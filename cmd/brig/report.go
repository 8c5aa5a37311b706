package main

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"brig/internal/cli"
	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// report holds the destinations of --report and --report-fd. They are opened before the payload starts, which might
// otherwise replace them by a symbolic link.
type report []reportFile

type reportFile struct {
	*os.File
	named bool // from --report: at the end, the name must still refer to this file
}

func openReport(inv *invocation, std cli.Stdio) (report, error) {
	var r report
	switch inv.report {
	case "":
	case "-":
		r = append(r, reportFile{std.Out, false})
	default:
		f, err := openOutput(inv.report, 0, 0o644, ", or use --report-fd")
		if err != nil {
			return nil, fmt.Errorf("--report: %w", err)
		}
		r = append(r, reportFile{f, true})
	}
	if inv.reportFD >= 0 {
		if fl, err := unix.FcntlInt(uintptr(inv.reportFD), unix.F_GETFL, 0); err != nil ||
			fl&unix.O_ACCMODE == unix.O_RDONLY {
			return nil, fmt.Errorf("--report-fd: %d is not open for writing; open it in the shell, as in 3>report.json",
				inv.reportFD)
		}
		r = append(r, reportFile{os.NewFile(uintptr(inv.reportFD), "report-fd"), false})
	}
	return r, nil
}

// openOutput opens a file that a flag names. It follows no link, and waits for no reader of a FIFO.
func openOutput(name string, flags int, mode uint32, instead string) (*os.File, error) {
	flags |= unix.O_WRONLY | unix.O_CREAT | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY
	fd, err := unix.Open(name, flags, mode)
	if err == unix.ELOOP {
		return nil, fmt.Errorf("%s is a symbolic link; name the file itself%s", words.Quote(name), instead)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; name a file that can be written", words.Quote(name), err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// write writes the whole object to each file, replacing its content.
func (r report) write(result *reported) error {
	var b strings.Builder
	if len(r) > 0 {
		if err := writeJSON(&b, result); err != nil {
			return err
		}
	}
	for _, f := range r {
		what := "cannot write the report"
		if f.named {
			what = "--report"
		}
		err := f.replace(b.String())
		if err = cmp.Or(err, f.Close()); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

// replace writes the whole content.
func (f reportFile) replace(text string) error {
	if st, err := f.Stat(); err == nil && st.Mode().IsRegular() && f.named {
		if err := f.Truncate(0); err != nil {
			return fmt.Errorf("%w; name a file that can be written", err)
		}
	}
	if _, err := f.WriteString(text); err != nil {
		return fmt.Errorf("%w; give it a reader or more room", err)
	}
	return f.unmoved()
}

// unmoved returns an error if the name now leads to another file: a payload that may write to its directory can put a
// forged report there.
func (f reportFile) unmoved() error {
	if !f.named {
		return nil
	}
	ours, err := f.Stat()
	if err != nil {
		return err
	}
	if now, err := os.Lstat(f.Name()); err != nil || !os.SameFile(ours, now) {
		return fmt.Errorf("%s was removed or replaced while the payload ran; "+
			"name a file outside of what it may write to", words.Quote(f.Name()))
	}
	return nil
}

// writeJSON writes JSON whose strings do not steer a terminal: a payload chooses names of files.
func writeJSON(w io.Writer, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	lines := strings.Split(string(b), "\n")
	for i := range lines {
		lines[i] = words.JSON(lines[i])
	}
	_, err = io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// emit writes the output of a command: v as JSON, or text.
func emit(std cli.Stdio, asJSON bool, v any, text string) int {
	if asJSON {
		var b strings.Builder
		if err := writeJSON(&b, v); err != nil {
			return std.Fail(err.Error())
		}
		text = b.String()
	}
	return std.Emit(text)
}

func encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
