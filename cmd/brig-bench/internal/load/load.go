// Package load has the benchmark's payload, which performs operations in a jail, the server that some of them talk to,
// and the start of brigd. The binary is its own payload: with the hidden command `load` it performs one operation and
// prints how long it took.
package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"brig/cmd/brig-bench/internal/peers"
)

// Subcommand is the hidden command that performs an operation: Perform with the arguments after it.
const Subcommand = "load"

// operations are those that a payload can perform. Each does something N times, and returns the nanoseconds of each
// time or of all.
var operations = map[string]func(Request) ([]int64, error){
	"getppid": fastest(getppid), "read": fastest(read), "open": fastest(open), "socket": fastest(socket),
	"net-down": transfer, "net-up": transfer, "net-dial": dials,
}

// held are the operations that go on until something outside ends them, and print lines of their own.
var held = map[string]func(Request, io.Reader, io.Writer) error{"net-hold": hold, "serve": serveHTTP}

// Request asks a payload for one measurement.
type Request struct {
	Op  string
	N   int    // how often to perform it, or bytes to transfer, or connections
	Arg string // what the operation works on: a path, a server's address
}

// Job returns the job whose payload performs the request.
func (r Request) Job() (peers.Job, error) {
	exe, err := os.Executable()
	return peers.Job{Args: []string{peers.Target, Subcommand, r.Op, strconv.Itoa(r.N), r.Arg}, Show: exe}, err
}

// Perform is the command `load`. It begins when in has a byte or ends, and prints the nanoseconds as JSON. The
// operation net-hold prints a line at the beginning and one when its connections are open, which it holds until in
// ends. The operation serve prints where it listens.
func Perform(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 3 {
		return errors.New("load: it is the benchmark's own command, started by it alone")
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	r := Request{Op: args[0], N: n, Arg: args[2]}
	if operation := held[r.Op]; operation != nil {
		return operation(r, in, out)
	}
	operation := operations[r.Op]
	if operation == nil {
		return fmt.Errorf("load: there is no operation %q", r.Op)
	}
	if _, err := in.Read(make([]byte, 1)); err != nil && err != io.EOF {
		return err
	}
	nanos, err := operation(r)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Op, err)
	}
	return json.NewEncoder(out).Encode(nanos)
}

// Ask starts a fresh jail, which was prepared for a Request, and returns what its payload has measured.
func Ask(ready *peers.Ready) (nanos []int64, err error) {
	var said strings.Builder
	if _, err = ready.Time(&said); err != nil {
		return nil, err
	}
	if err = json.Unmarshal([]byte(said.String()), &nanos); err != nil || len(nanos) == 0 {
		return nil, fmt.Errorf("the payload has printed %.100q: %w", said.String(), err)
	}
	return nanos, nil
}

// Hold starts a fresh jail whose payload holds the connections that ready was prepared for. It returns by how many
// bytes the process that relays has grown: its proportional set size, proc_pid_smaps(5).
func Hold(ctx context.Context, ready *peers.Ready) (grown int64, err error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return 0, errors.Join(err, in.Close(), theirIn.Close())
	}
	p, err := ready.Start(peers.Streams{In: theirIn, Out: theirOut})
	if err = errors.Join(err, theirIn.Close(), theirOut.Close()); p == nil {
		return 0, errors.Join(err, in.Close(), out.Close())
	}
	defer context.AfterFunc(ctx, p.Kill)()
	size := func() (n int64) {
		if err == nil {
			_, err = out.Read(make([]byte, 1)) // the payload's line
		}
		if err == nil {
			n, err = pss(p.Pid)
		}
		return n
	}
	before := size()
	if err == nil {
		_, err = in.Write([]byte("\n"))
	}
	grown = size() - before
	if err != nil {
		p.Kill() // it may not read its input any more
	}
	if werr := errors.Join(in.Close(), p.Wait()); werr != nil { // the payload has the reason
		err = werr
	}
	return grown, errors.Join(err, out.Close(), p.Close())
}

// pss reads the proportional set size of a process, in bytes.
func pss(pid int) (int64, error) {
	file := fmt.Sprintf("/proc/%d/smaps_rollup", pid)
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "Pss:"); ok {
			n, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("%s has no field Pss; this kernel is too old, or /proc is masked", file)
}
