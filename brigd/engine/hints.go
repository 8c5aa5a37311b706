package engine

import (
	"bytes"
	"fmt"
	"slices"

	"brig/brigd/job"
	"brig/internal/text"
	"brig/nsjail"
)

// unresolved are messages of programs that could not resolve a host name: glibc's gai_strerror(3), curl, Node, Go and
// Java.
var unresolved = []string{"name resolution", "Name or service not known", "No address associated with hostname",
	"ould not resolve", "ENOTFOUND", "EAI_AGAIN", "no such host", "UnknownHostException"}

// hintSize is how many bytes of stderr are searched: the end, or all if there are no more.
const hintSize = 8 << 10

// hints tells what a program cannot know: that its jail has no network, and that the processes it leaves end with it.
func hints(j *job.Job, res *nsjail.Result, stderr *text.Capture) (list []string) {
	if res == nil {
		return nil
	}
	if res.Ended != nil {
		list = append(list, res.Ended.String()+"; start what uses a server in the same run, and wait for it there")
	}
	name := lookup(res)
	switch net := j.Spec.Net; {
	case name != "":
		list = append(list, fmt.Sprintf("this run has no network, and it looked for %s: name what it may reach in the field "+
			"network, as in %q", name, name+":443"))
	case res.Status == nsjail.StatusFailed && net != nsjail.NetEgress && net != nsjail.NetHost && unresolvedName(stderr):
		list = append(list, `it reads as if a name could not be resolved: this run has no network, `+
			`unless the request names what it may reach in the field network, as in "example.org:443"`)
	}
	return list
}

// lookup returns the name that a failed payload has looked up in a jail without a network, if init has seen one.
func lookup(res *nsjail.Result) string {
	for _, d := range res.Denials {
		if d.Layer == "network" && res.Network == nil {
			return d.Name
		}
	}
	return ""
}

// unresolvedName guesses from the end of stderr whether a name could not be resolved.
func unresolvedName(stderr *text.Capture) bool {
	last, tail := stderr.Parts()
	if stderr.Dropped() > 0 {
		last = tail
	}
	return slices.ContainsFunc(unresolved, func(words string) bool { return bytes.Contains(last, []byte(words)) })
}
