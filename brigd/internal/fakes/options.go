package fakes

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"

	"brig/brigd/engine"
	"brig/brigd/internal/front"
	"brig/brigd/internal/live"
	"brig/brigd/job"
)

// Living has the processes of living sandboxes.
type Living = front.Processes

var _ front.Engine = (*Engine)(nil)

// open is a gate that lets everybody in.
type open struct{}

func (open) Ask(string) error { return nil }

func (open) Enter(context.Context, string) (func(), error) { return func() {}, nil }

// Options fills in what a test leaves out.
func Options(o front.Options) front.Options {
	if o.Gate == nil {
		o.Gate = open{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Authenticate == nil {
		o.Authenticate = func(*http.Request) (c engine.Caller, no *job.Refusal) { return c, nil }
	}
	if o.Ready == nil {
		o.Ready = func() bool { return true }
	}
	if o.Health == nil {
		o.Health = func() map[string]string { return nil }
	}
	if o.Live == nil {
		o.Live = &live.Table{}
	}
	o.Trace = func(r *http.Request) (*http.Request, func(int)) { return r, func(int) {} }
	o.Version, o.MaxRequests = cmp.Or(o.Version, "unknown"), cmp.Or(o.MaxRequests, 1024)
	o.MaxBody, o.MaxFile = cmp.Or(o.MaxBody, 32<<20), cmp.Or(o.MaxFile, 256<<20)
	return o
}
