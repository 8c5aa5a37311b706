package engine

import (
	"bytes"

	"brig/nsjail"
)

// unresolved are messages of programs that could not resolve a host name: glibc's gai_strerror(3), curl, Node, Go and
// Java.
var unresolved = [][]byte{[]byte("name resolution"), []byte("Name or service not known"),
	[]byte("No address associated with hostname"), []byte("ould not resolve"), []byte("ENOTFOUND"),
	[]byte("EAI_AGAIN"), []byte("no such host"), []byte("UnknownHostException")}

// tailSize is the number of bytes kept from the end of stderr.
const tailSize = 4 << 10

// tail is an io.Writer that keeps the end of its input.
type tail struct{ kept []byte }

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	if t.kept = append(t.kept, b[max(0, len(b)-tailSize):]...); len(t.kept) > 2*tailSize {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-tailSize:]...)
	}
	return len(b), nil
}

// hints guesses from the end of stderr why a run failed: a program cannot know that its jail has no network.
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
