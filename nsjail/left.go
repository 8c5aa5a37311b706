package nsjail

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/internal/run"
	"brig/nsjail/spec"
)

const opEnd = "end"

// stuckError names the processes of a jail that have not ended in time. The other resources are released then.
func stuckError(first int) error {
	var names []string
	for _, p := range append([]int{first}, sys.Descendants(first)...) {
		names = append(names, strconv.Itoa(p))
	}
	return &spec.Error{Fault: spec.FaultHost, Op: opEnd, Detail: words.Plain(fmt.Sprintf("processes %s did not end "+
		"within %s of SIGKILL", strings.Join(names, " "), run.EndWait)),
		Remedy: "look at /proc/PID/stack as root for what they wait for"}
}

// stuckBy returns the stuckError of an end, or nil.
func stuckBy(err error) *spec.Error {
	if e, ok := errors.AsType[*spec.Error](err); ok && e.Op == opEnd {
		return e
	}
	return nil
}
