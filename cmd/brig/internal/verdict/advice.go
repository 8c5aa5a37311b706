package verdict

import (
	"bytes"

	"brig/nsjail"
)

// lacking are words of programs that have not found a file, in lower case: of strerror(3), shells, LaTeX and Python.
const lacking = "no such file|not found|can't find|cannot find|could not find|can't open|cannot open|" +
	"unable to find|unable to locate|enoent|modulenotfound"

// advice returns a line for a person at a terminal whose command has failed by itself, if its last words read as if it
// had missed a file of the host, or as if it had met the limit on open files; otherwise "".
func (a *Run) advice(r *nsjail.Result) string {
	last := bytes.ToLower(r.Last)
	switch {
	case r.Status != nsjail.StatusFailed || a.JSON:
	case bytes.Contains(last, []byte("too many open files")):
		return "it reads as if it had met the limit on open files (--ulimit nofile=SOFT:HARD)"
	case a.Host:
		for word := range bytes.SplitSeq([]byte(lacking), []byte("|")) {
			if bytes.Contains(last, word) {
				return "if it lacks a file of the host, brig learn finds which: write learn in place of run"
			}
		}
	}
	return ""
}
