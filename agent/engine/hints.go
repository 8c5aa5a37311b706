package engine

import (
	"bytes"

	"brig/agent/text"
	"brig/nsjail"
)

// unresolved are messages of programs that could not resolve a host name: glibc's gai_strerror(3), curl, Node, Go and
// Java.
var unresolved = []string{"name resolution", "Name or service not known", "No address associated with hostname",
	"ould not resolve", "ENOTFOUND", "EAI_AGAIN", "no such host", "UnknownHostException"}

// hintSize is how many bytes of stderr are searched: the end, or all if there are no more.
const hintSize = 8 << 10

// hints guesses from the end of stderr why a run failed: a program cannot know that its jail has no network.
func hints(j *nsjail.Job, res *nsjail.Result, stderr *text.Capture) []string {
	if res == nil || res.Status != nsjail.StatusFailed || j.Spec.Net == nsjail.NetEgress || j.Spec.Net == nsjail.NetHost {
		return nil
	}
	last, tail := stderr.Parts()
	if stderr.Dropped() > 0 {
		last = tail
	}
	for _, words := range unresolved {
		if bytes.Contains(last, []byte(words)) {
			return []string{`it reads as if a name could not be resolved: this run has no network, ` +
				`unless the request names what it may reach in the field network, as in "example.org:443"`}
		}
	}
	return nil
}
