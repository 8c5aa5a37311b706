package runcmd

import (
	"encoding/json"
	"io"
	"os"

	"brig/cmd/brig/internal/console"
	"brig/cmd/brig/internal/wish"
	"brig/netns/egress"
	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// maxAtOnce bounds the refusals that are told while the payload runs. The line at the end counts all.
const maxAtOnce = 16

// refusals is a log of the network that tells a person at a terminal of the first refusal of each host when it happens:
// a program may try again for minutes without a word.
type refusals struct {
	std   *console.Console
	log   io.Writer       // the file of --net-log, or nil
	hosts map[string]bool // those that were told
}

// watchRefusals returns the log for a run, which may be nil.
func watchRefusals(w *wish.Wish, file *os.File, std *console.Console) io.Writer {
	if w.Spec.Net == nsjail.NetEgress && !w.Output.JSON && w.Output.NetLog != "-" {
		if _, err := unix.IoctlGetTermios(int(std.Err.Fd()), unix.TCGETS); err == nil {
			r := &refusals{std: std, hosts: map[string]bool{}}
			if file != nil {
				r.log = file
			}
			return r
		}
	}
	if file == nil {
		return nil
	}
	return file
}

// Write takes one line of the log.
func (r *refusals) Write(line []byte) (int, error) {
	var e egress.Event
	if err := json.Unmarshal(line, &e); err == nil {
		if no, ok := e.Refusal(); ok && !r.hosts[no.Host] && len(r.hosts) < maxAtOnce {
			r.hosts[no.Host] = true
			r.std.Say("the network refuses %s\r", no.Text().In(r.std.Words)) // the payload may have made the terminal raw
		}
	}
	if r.log == nil {
		return len(line), nil
	}
	return r.log.Write(line)
}
