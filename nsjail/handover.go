package nsjail

import "brig/nsjail/spec"

// Handover lets a Cmd be run by a parked payload (Runner.PrestartRunning) instead of a payload of its own. A parked
// payload matches if its Spec equals the Cmd's after Args, Env and Mounts are replaced by the fields below; keeper-side
// limits may differ. It is taken if it still waits. Otherwise the Cmd starts as without a Handover. The caller must see
// to it that both do the same.
//
// A payload that is taken has pipes for its streams, so none is taken if one of the Cmd's is an *os.File, or if Stdout
// and Stderr are the same writer.
type Handover struct {
	Args, Env []string
	Mounts    []spec.Mount
	// Data is what the payload reads first; Stdin follows in the same pipe. So Data must tell its own length. If the
	// payload ends before it is read, nothing of the command has run, and Wait returns an error.
	Data []byte
}
