package attack

import (
	"strings"

	"brig/internal/words"
)

// Verdict is the outcome of an attack.
type Verdict string

// The verdicts.
const (
	Contained Verdict = "CONTAINED"
	Escaped   Verdict = "ESCAPED"
	Unclear   Verdict = "unclear"
)

// Outcome is how an attack's jail ended, as the checks of a Scene see it.
type Outcome struct {
	Status        string
	ExitCode      int
	MaxRSS        int64 // bytes
	StdoutBytes   int64 // that the payload has written
	StdoutDropped int64
	Output        []byte // what the keeper has kept of stdout
}

// Judge returns the verdict in which the last word of stdout and the exit code agree. A crash has no verdict.
func Judge(o *Outcome, stderr string) (Verdict, string) {
	lines := strings.Split(strings.TrimRight(string(o.Output), "\n"), "\n")
	last := lines[len(lines)-1]
	detail := o.Status + " " + words.Quote(last) + " " + words.Quote(stderr)
	switch {
	case strings.HasPrefix(last, string(Contained)) && o.Status == "ok":
		return Contained, detail
	case strings.HasPrefix(last, string(Escaped)) && o.ExitCode == 1:
		return Escaped, detail
	}
	return Unclear, detail
}

// layers are the fences, outermost first, and the first words of the names of the attacks on each.
var layers = []struct{ name, words string }{
	{"files of the host", "file root etc dev sys shm cwd"},
	{"shared directories", "input work system"},
	{"copy on write", "cow"},
	{"protected paths", "protect"},
	{"planted links", "plant image"},
	{"environment, descriptors", "env fd"},
	{"capabilities, ids", "cap"},
	{"namespaces, mounts", "ns mount"},
	{"procfs", "proc"},
	{"processes", "init ptrace signal daemon"},
	{"network", "net"},
	{"ipc, keys", "ipc key"},
	{"terminal", "tty"},
	{"system calls", "abi kernel"},
	{"landlock", "landlock"},
	{"process tier", "process"},
	{"resources, report", "host limit report"},
}

// Layer returns the fence that an attack of this name is on, and its place in the order of fences.
func Layer(name string) (string, int) {
	first, _, _ := strings.Cut(strings.TrimSuffix(name, ".py"), "-")
	for i, l := range layers {
		if strings.Contains(" "+l.words+" ", " "+first+" ") {
			return l.name, i
		}
	}
	return first, len(layers)
}
