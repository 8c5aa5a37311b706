// Package learn decides which changes of a Spec would let a command work that its jail has kept from working.
//
// Package learn/trace watches the jail from outside and records its failed system calls as Events, with what the host
// has at their paths (Node). Advise compares them with the Spec, and returns Proposals: the one that shows the least
// first. It is pure: the same Input has the same Advice.
//
// The payload chooses the content of an Event. Advise therefore never proposes a path that Private gives a reason to
// hide, and `brig learn` tries only proposals for which Reads returns true.
package learn

import (
	"cmp"
	"slices"
	"strings"

	"brig/denial"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// Power is what a change lets the payload have; a later constant is more.
type Power int

// The powers.
const (
	Room    Power = iota // memory, or more of what a limit counts
	Public               // configuration and programs that every user of the host may read
	Own                  // files that the caller may read
	Copy                 // the caller's directory, to change a copy of it
	Network              // a host to talk to
	Filter               // system calls
	Secret               // what is private
)

// String returns the word for a table.
func (p Power) String() string {
	return [...]string{"room", "public", "own", "copy", "network", "filter", "private"}[p]
}

// MarshalText returns the same for JSON.
func (p Power) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Setting is what a proposal changes, and determines its values. Of proposals with the same power those with an earlier
// setting come first.
type Setting int

// The settings.
const (
	Allow          Setting = iota // a rule for the network
	COW                           // SRC[:DST][:size=SIZE], a directory to change a copy of
	CPUTime                       // a time
	Env                           // NAME=VALUE
	Etc                           // a name in /etc
	Memory                        // a size
	Processes                     // a number
	ReadOnly                      // a source and a target
	RootfsWritable                // no value
	Seccomp                       // a preset
	Wall                          // a time
	Tmpfs                         // DST[:size=SIZE]
	OpenFiles                     // a number
)

// Proposal is a change of a Spec.
type Proposal struct {
	Setting Setting  `json:"-"`
	Values  []string `json:"-"`
	Power   Power    `json:"power"`
	Count   int      `json:"calls"` // the failed calls that it is for
	Call    string   `json:"call"`  // the first of them
	Errno   string   `json:"errno"`
	Path    string   `json:"path,omitempty"` // of the call, or its address or name
	Tried   bool     `json:"tried"`          // in the last run of `brig learn`
	// Costly is set if `brig learn` must not try it by itself.
	Costly bool `json:"-"`
}

// Is reports whether the proposal makes this change.
func (p *Proposal) Is(s Setting, values []string) bool {
	return p.Setting == s && slices.Equal(p.Values, values)
}

// Reads reports whether a jail without network may have it for a trial: what it shows can go nowhere.
func (p *Proposal) Reads() bool { return p.Power < Network && !p.Costly }

// Withheld is what failed and has no proposal, with the reason.
type Withheld struct {
	Path  string     `json:"path,omitempty"`
	Call  string     `json:"call"`
	Errno string     `json:"errno"`
	Count int        `json:"calls"`
	Why   words.Text `json:"why"`
}

// Advice is the answer to an Input.
type Advice struct {
	Proposals []Proposal // the least power first
	Withheld  []Withheld
}

// Input is what is known of all runs so far.
type Input struct {
	Spec   *nsjail.Spec // without any proposal
	Events []Event
	// LimitsHit and Denials are those of the last report.
	LimitsHit []string
	Denials   []denial.Denial
	Dir       string   // the caller's directory
	Homes     []string // see Private
	Private   bool     // propose what is private, too
	World     World
}

// World answers questions about directories of the host.
type World interface {
	// Has reports whether there is such a file.
	Has(host string) bool
	// Secrets reports whether a directory has a name in it that SecretName knows, at any depth, or with public a file that
	// not every user may read, or is too large to look for them.
	Secrets(host string, public bool) bool
}

// advisor collects the answer.
type advisor struct {
	*Input
	out   Advice
	reads []want            // what is to be shown
	cows  map[string]*Event // values of COW, and the first write to each
}

// want is a file of the host to show in the jail.
type want struct {
	node    Node
	unit    string // the file or directory of the host that is shown
	at      string // where
	private bool   // it, or where it leads
	by      *Event
}

// mostProposals bounds the length of the list that a payload can make the caller read.
const mostProposals = 64

// Advise returns which changes would let the payload do what it has failed to do.
func Advise(in *Input) *Advice {
	a := &advisor{Input: in, cows: map[string]*Event{}}
	for i := range in.Events {
		a.event(&in.Events[i])
	}
	a.show()
	a.refused()
	a.limits()
	slices.SortStableFunc(a.out.Proposals, func(x, y Proposal) int {
		return cmp.Or(cmp.Compare(x.Power, y.Power), cmp.Compare(x.Setting, y.Setting),
			slices.Compare(x.Values, y.Values))
	})
	if n := len(a.out.Proposals); n > mostProposals {
		a.withhold(&Event{Call: "calls", Count: n - mostProposals}, "", "too many different files, directories and hosts")
		a.out.Proposals = a.out.Proposals[:mostProposals]
	}
	slices.SortStableFunc(a.out.Withheld, func(x, y Withheld) int {
		return cmp.Or(strings.Compare(string(x.Why), string(y.Why)), strings.Compare(x.Path, y.Path))
	})
	return &a.out
}

func (a *advisor) event(e *Event) {
	switch e.Kind {
	case Connect:
		a.connect(e)
	case Lookup:
		a.lookup(e)
	case Count:
		a.count(e)
	case Full:
		a.full(e)
	case Search:
		held := len(a.out.Withheld)
		if a.nodes(e); held == len(a.out.Withheld) {
			a.propose(e, Room, e.Path, Env, "PATH="+e.Path+":"+a.path())
		}
	case Write:
		a.write(e)
	default:
		a.nodes(e)
	}
}

// propose adds a proposal, or counts a further event for it.
func (a *advisor) propose(e *Event, power Power, path string, s Setting, values ...string) *Proposal {
	for i := range a.out.Proposals {
		if p := &a.out.Proposals[i]; p.Is(s, values) {
			p.Count += e.Count
			p.Power = max(p.Power, power)
			return p
		}
	}
	a.out.Proposals = append(a.out.Proposals, Proposal{Setting: s, Values: values, Power: power, Count: e.Count,
		Call: e.Call, Path: path, Errno: e.Errno})
	return &a.out.Proposals[len(a.out.Proposals)-1]
}

// withhold records that there is no proposal.
func (a *advisor) withhold(e *Event, path string, why words.Text) {
	for i := range a.out.Withheld {
		if w := &a.out.Withheld[i]; w.Path == path && w.Why == why {
			w.Count += e.Count
			return
		}
	}
	a.out.Withheld = append(a.out.Withheld, Withheld{Path: path, Call: e.Call, Errno: e.Errno, Count: e.Count, Why: why})
}

// path returns the payload's PATH.
func (a *advisor) path() string {
	for _, e := range slices.Backward(a.Spec.Env) {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			return v
		}
	}
	return spec.DefaultPath
}
