package nsjail

import (
	"fmt"
	"strings"
	"time"
)

// String returns how the run ended, and after what time, as in "signal SIGKILL after 7ms". It has no word of the
// payload's output.
func (r Result) String() string {
	text := string(r.Status)
	switch {
	case r.Error != nil:
		text += ": " + r.Error.Error()
	case r.Signal != "" && r.Status == StatusSignal:
		text += " " + r.Signal
	case r.Signal != "":
		text += " (" + r.Signal + ")"
	case r.ExitCode > 0:
		text += fmt.Sprintf(" (exit code %d)", r.ExitCode)
	}
	text += " after " + time.Duration(r.Usage.Wall).Round(time.Millisecond).String()
	if len(r.LimitsHit) > 0 {
		text += ", limits met: " + strings.Join(r.LimitsHit, ", ")
	}
	return text
}
