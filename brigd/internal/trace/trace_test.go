package trace

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"brig/brigd/job"
	"brig/internal/test/must"
	"brig/nsjail"
)

type gate struct{ err error }

func (g gate) Ask(string) error { return g.err }

func (g gate) Enter(context.Context, string) (func(), error) { return func() {}, g.err }

type runner struct {
	result *nsjail.Result
	err    error
}

func (r runner) Execute(context.Context, *job.Job) (*nsjail.Result, error) { return r.result, r.err }

// Either build passes everything on, with nowhere to send to.
func TestPassesOn(t *testing.T) {
	for _, v := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		t.Setenv(v, "")
	}
	tr := must.Get(New(t.Context(), "1", slog.New(slog.DiscardHandler)))(t)
	passesOn(t, tr)
	if err := tr.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// passesOn runs a request through all of a Tracer.
func passesOn(t *testing.T, tr *Tracer) {
	t.Helper()
	result := &nsjail.Result{Status: nsjail.StatusOK, Phases: nsjail.Phases{Look: 5, Run: 7}}
	g, e := tr.Gate(gate{}), tr.Wrap(runner{result: result})
	refused := tr.Wrap(runner{err: &job.Refusal{Layer: "policy", Code: "no_such_thing",
		Message: "the payload's own words"}})
	r := httptest.NewRequest("POST", "/v1/run", nil)
	r.Header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	r, end := tr.Request(r)
	defer end(http.StatusTeapot)
	release, err := g.Enter(r.Context(), "a")
	if err != nil {
		t.Error(err)
	}
	defer release()
	if got, err := e.Execute(r.Context(),
		&job.Job{ID: "run_1", Agent: "coder", Code: []byte("the code")}); got != result || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := refused.Execute(r.Context(), &job.Job{ID: "run_2"}); got != nil || err == nil {
		t.Errorf("%v, %v", got, err)
	}
}

// A build without the tag has none of OpenTelemetry's packages.
func TestNotInTheOrdinaryBuild(t *testing.T) {
	out, err := exec.Command("go", "list", "-buildvcs=false", "-deps", ".").Output()
	if err != nil {
		t.Skip("the go command does not run here: ", err)
	}
	if strings.Contains(string(out), "opentelemetry") {
		t.Error("the package reaches OpenTelemetry without the build tag")
	}
}
