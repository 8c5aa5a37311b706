package doctor

import "brig/nsjail/spec"

// State is the result of Diagnose for one mechanism.
type State string

// The states of a Finding.
const (
	Present State = "present" // it works here
	Partial State = "partial" // a jail does with less, or only a part of it works
	Missing State = "missing" // a default jail cannot do without it
	Note    State = "note"    // nothing that a jail needs
)

// Finding describes one mechanism on a machine.
type Finding struct {
	Name  string    `json:"name"`
	State State     `json:"state"`
	Why   spec.Text `json:"why"`
	// Fix is the command or the setting that mends it; "" if there is none or nothing has to be mended.
	Fix spec.Text `json:"fix,omitempty"`
	// Text is a file to install, of several lines.
	Text string `json:"text,omitempty"`
}
