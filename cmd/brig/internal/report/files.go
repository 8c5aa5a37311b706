package report

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"brig/cmd/brig/internal/console"
	"brig/cmd/brig/internal/outfile"
	"brig/cmd/brig/internal/wish"
	"brig/internal/cli"

	"golang.org/x/sys/unix"
)

// Files holds the destinations of --report and --report-fd. They are opened before the payload starts, which might
// otherwise replace them by a symbolic link.
type Files []outfile.File

// Open opens them.
func Open(o *wish.Output, std *console.Console) (Files, error) {
	var r Files
	switch o.Report {
	case "":
	case "-":
		r = append(r, outfile.File{File: std.Out})
	default:
		f, err := outfile.Open(o.Report, 0, 0o644, ", or use --report-fd")
		if err != nil {
			return nil, fmt.Errorf("--report: %w", err)
		}
		r = append(r, outfile.File{File: f, Named: true})
	}
	if o.ReportFD >= 0 {
		if fl, err := unix.FcntlInt(uintptr(o.ReportFD), unix.F_GETFL, 0); err != nil ||
			fl&unix.O_ACCMODE == unix.O_RDONLY {
			return nil, fmt.Errorf("--report-fd: %d is not open for writing; open it in the shell, as in 3>report.json",
				o.ReportFD)
		}
		r = append(r, outfile.File{File: os.NewFile(uintptr(o.ReportFD), "report-fd")})
	}
	return r, nil
}

// write writes the whole object to each file, replacing its content.
func (r Files) write(result *Report) error {
	var b strings.Builder
	if len(r) > 0 {
		if err := console.WriteJSON(&b, result); err != nil {
			return err
		}
	}
	for _, f := range r {
		what := "cannot write the report"
		if f.Named {
			what = "--report"
		}
		err := f.Replace(b.String())
		if err = cmp.Or(err, f.Close()); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

// Deliver writes the report to its files, and the answer of --json to stdout. The code is 0 if it could.
func (r Files) Deliver(result *Report, a *Answer, std *console.Console) (code int) {
	if len(r) > 0 || a != nil {
		result.worded(std.Words)
	}
	if err := r.write(result); err != nil {
		code = std.Fail(err.Error())
	}
	if a == nil {
		return code
	}
	if err := a.write(std.Out); err != nil {
		code = std.Fail("cannot write the report to stdout: " + cli.Reason(err) + "; give it a reader or more room")
	}
	return code
}
