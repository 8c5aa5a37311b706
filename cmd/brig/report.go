package main

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"os"
	"strings"

	"brig/cmd/brig/internal/console"
	"brig/cmd/brig/internal/outfile"

	"golang.org/x/sys/unix"
)

// report holds the destinations of --report and --report-fd. They are opened before the payload starts, which might
// otherwise replace them by a symbolic link.
type report []outfile.File

func openReport(inv *invocation, std *console.Console) (report, error) {
	var r report
	switch inv.report {
	case "":
	case "-":
		r = append(r, outfile.File{File: std.Out})
	default:
		f, err := outfile.Open(inv.report, 0, 0o644, ", or use --report-fd")
		if err != nil {
			return nil, fmt.Errorf("--report: %w", err)
		}
		r = append(r, outfile.File{File: f, Named: true})
	}
	if inv.reportFD >= 0 {
		if fl, err := unix.FcntlInt(uintptr(inv.reportFD), unix.F_GETFL, 0); err != nil ||
			fl&unix.O_ACCMODE == unix.O_RDONLY {
			return nil, fmt.Errorf("--report-fd: %d is not open for writing; open it in the shell, as in 3>report.json",
				inv.reportFD)
		}
		r = append(r, outfile.File{File: os.NewFile(uintptr(inv.reportFD), "report-fd")})
	}
	return r, nil
}

// write writes the whole object to each file, replacing its content.
func (r report) write(result *reported) error {
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

func encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
