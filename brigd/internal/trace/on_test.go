//go:build otel

package trace

import (
	"bytes"
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func TestSpans(t *testing.T) {
	rec := tracetest.NewSpanRecorder()
	tr, err := newTracer(t.Context(), "1", sdk.WithSpanProcessor(rec))
	if err != nil {
		t.Fatal(err)
	}
	passesOn(t, tr)
	var names []string
	spans := rec.Ended()
	for _, s := range spans {
		names = append(names, s.Name())
		if s.SpanContext().TraceID().String() != "0af7651916cd43dd8448eb211c80319c" {
			t.Errorf("%s is of another trace", s.Name())
		}
	}
	if !slices.Equal(names, []string{"queue", "run", "run", "HTTP POST"}) {
		t.Fatalf("spans %q", names)
	}
	request := spans[3]
	if request.Parent().SpanID().String() != "b7ad6b7169203331" {
		t.Errorf("the request's parent is %s", request.Parent().SpanID())
	}
	for _, s := range spans[:3] {
		if s.Parent().SpanID() != request.SpanContext().SpanID() {
			t.Errorf("%s is not below the request", s.Name())
		}
		for _, a := range s.Attributes() {
			if v := a.Value.String(); strings.Contains(v, "the code") || strings.Contains(v, "own words") {
				t.Errorf("%s holds %s=%s", s.Name(), a.Key, v)
			}
		}
	}
	if n := len(spans[1].Events()); n != 7 {
		t.Errorf("%d events in the run", n)
	}
}

// The exporter sends what the variables say, and only if they name a place.
func TestExport(t *testing.T) {
	var mu sync.Mutex
	var got bytes.Buffer
	auth := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		auth = r.Header.Get("X-Key")
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			body = z
		}
		if _, err := io.Copy(&got, body); err != nil {
			t.Error(err)
		}
	}))
	defer s.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", s.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "X-Key=abc")
	t.Setenv("OTEL_SERVICE_NAME", "our-brigd")
	tr, err := New(t.Context(), "1", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	passesOn(t, tr)
	if err := tr.Close(t.Context()); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if !bytes.Contains(got.Bytes(), []byte("our-brigd")) || !bytes.Contains(got.Bytes(), []byte("run_1")) ||
		auth != "abc" {
		t.Errorf("%d bytes arrived, key %q", got.Len(), auth)
	}
	if bytes.Contains(got.Bytes(), []byte("the code")) {
		t.Error("the code has left")
	}
	t.Setenv("OTEL_TRACES_EXPORTER", "none")
	if tr, err := New(t.Context(), "1", slog.New(slog.DiscardHandler)); err != nil || tr.provider != nil {
		t.Errorf("%+v, %v", tr, err)
	}
}
