package engine

import (
	"bytes"

	"brig/nsjail"
)

// unresolved are messages of programs that could not resolve a name: glibc's gai_strerror(3), curl, Node, Go and Java.
var unresolved = [][]byte{[]byte("name resolution"), []byte("Name or service not known"),
	[]byte("No address associated with hostname"), []byte("ould not resolve"), []byte("ENOTFOUND"),
	[]byte("EAI_AGAIN"), []byte("no such host"), []byte("UnknownHostException")}

// tailSize is how much of the end of stderr is kept to guess from, in bytes.
const tailSize = 4 << 10

// tail keeps the end of what is written to it.
type tail struct{ kept []byte }

// Write is io.Writer's.
func (t *tail) Write(b []byte) (int, error) {
	if t.kept = append(t.kept, b[max(0, len(b)-tailSize):]...); len(t.kept) > 2*tailSize {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-tailSize:]...)
	}
	return len(b), nil
}

// hints guesses why a run has failed from the end of its stderr: a program cannot know that its jail has no network.
func hints(j *nsjail.Job, res *nsjail.Result, stderr []byte) []string {
	if res == nil || res.Status != nsjail.StatusFailed || j.Spec.Net == nsjail.NetEgress || j.Spec.Net == nsjail.NetHost {
		return nil
	}
	for _, words := range unresolved {
		if bytes.Contains(stderr, words) {
			return []string{`it reads as if a name could not be resolved: this run has no network, ` +
				`unless the request names what it may reach in the field network, as in "example.org:443"`}
		}
	}
	return nil
}
