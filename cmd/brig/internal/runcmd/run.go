// Package runcmd has brig run. A wish becomes an attempt, for which all is opened; with a launcher and a jail it is
// running; what it leaves when it has ended is kept and reported.
package runcmd

import (
	"os"
	"os/signal"
	"strings"

	"brig/cmd/brig/internal/console"
	"brig/cmd/brig/internal/keep"
	"brig/cmd/brig/internal/report"
	"brig/cmd/brig/internal/rootimage"
	"brig/cmd/brig/internal/wish"
	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// Run is brig run. It has no flags of its own.
type Run struct{}

// Flags returns none.
func (*Run) Flags() []cli.Flag { return nil }

// Run runs the command, and returns the exit code.
func (*Run) Run(w *wish.Wish, root rootimage.Root, std *console.Console) int {
	// Neither a closed pipe nor a file size limit may kill brig: it has to write a report and remove a control group.
	signal.Ignore(unix.SIGPIPE, unix.SIGXFSZ)
	w.From.Inherit(os.Getenv(keep.LearnVariable))
	a, err := prepare(w, std)
	if err != nil {
		return std.Fail(err.Error())
	}
	r, err := a.begin(root.Fetched)
	if err != nil {
		return a.failed(err)
	}
	return a.conclude(r, r.perform())
}

// Refuse reports an invalid Spec in the report and in the JSON output.
func Refuse(w *wish.Wish, line string, std *console.Console) {
	where, detail, _ := strings.Cut(line, ": ")
	r := &report.Report{Result: report.Failed(&w.Spec, &nsjail.Error{Fault: spec.FaultCaller, Op: where,
		Detail: words.Plain(detail)})}
	out, err := report.Open(&w.Output, std)
	if err != nil {
		std.Fail(err.Error())
	}
	var a *report.Answer
	if w.Output.JSON {
		a = report.NewAnswer(r, 0, nil, nil)
	}
	out.Deliver(r, a, std)
}
