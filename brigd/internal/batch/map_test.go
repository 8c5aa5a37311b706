package batch

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// A job that somebody else has cancelled is no success, also when the same command is begun again.
func TestCancelledJobs(t *testing.T) {
	d := t.TempDir()
	l := must.Get(net.Listen("unix", filepath.Join(d, "s")))(t)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"id":"run_1","status":"cancelled","exit_code":-1,"stdout":"","stderr":"","timed_out":false}`)
	})}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { s.Close() })
	jobs := filepath.Join(d, "jobs")
	must.Do(t, os.WriteFile(jobs, []byte("{\"cmd\":[\"true\"]}\n{\"cmd\":[\"true\"]}\n"), 0o600))
	for range 2 {
		var errs bytes.Buffer
		code := Map([]string{"--socket", filepath.Join(d, "s"), "--jobs", jobs, "--out", filepath.Join(d, "out")}, nil, io.Discard, &errs)
		if code != 1 || !strings.Contains(errs.String(), "2 of 2 jobs, 0 refused, 2 cancelled") {
			t.Errorf("exit code %d: %s", code, errs.String())
		}
	}
}
