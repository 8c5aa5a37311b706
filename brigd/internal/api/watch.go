package api

import (
	"context"
	"errors"
	"net/http"

	"brig/brigd/engine"
)

// endingKey is the key of a context that ends when the server shuts down, in those of requests.
type endingKey struct{}

// errEnding ends a watch when the server shuts down. Other requests may take their time then.
var errEnding = errors.New("brigd shuts down")

// notices is the answer of a watch in progress.
type notices struct {
	*call
	kind   string
	broken error // why the client does not get more
}

// watch answers GET of what happens to files: a stream that ends with the client, the sandbox or the server.
func (h *searchHandlers) watch(c *call) (any, error) {
	kind, err := accepted(c.R.Header.Values("Accept"))
	if err != nil {
		return nil, err
	}
	if kind == jsonType {
		kind = ndjsonType
	}
	if !h.watches.Take(c.Caller.Key(), 1) {
		return nil, no("quota", "too_many_watches", "watches", "as many watches go on as may, or as this caller may have",
			"end a watch that is not needed any more: close its connection")
	}
	defer h.watches.Take(c.Caller.Key(), -1)
	ctx, cancel := context.WithCancelCause(c.R.Context())
	defer cancel(nil)
	if ending, ok := ctx.Value(endingKey{}).(context.Context); ok {
		defer context.AfterFunc(ending, func() { cancel(errEnding) })()
	}
	s := &notices{call: c, kind: kind}
	err = h.files.WatchFiles(ctx, c.Caller, c.id, c.query.Get("path"), c.yes("recursive"), s.tell)
	switch {
	case !c.Wrote():
		return nil, err
	case c.R.Method == http.MethodHead:
	case s.broken == nil && context.Cause(ctx) == errEnding:
		_ = s.tell([]engine.Notice{{Type: "end", Note: errEnding.Error()}}) // an error is in s.broken
	case s.broken == nil && err != nil:
		s.broken = err
	}
	if s.broken != nil {
		c.Gone(s.broken)
	}
	return nil, nil
}

// errHead ends a watch of which only the headers are wanted.
var errHead = errors.New("only the headers are wanted")

// tell writes notices. If the client has gone, or does not read in time, the watch ends.
func (s *notices) tell(list []engine.Notice) error {
	if !s.Wrote() {
		s.streams(s.kind)
	}
	if s.R.Method == http.MethodHead {
		s.WriteHeader(http.StatusOK)
		return errHead
	}
	for i := range list {
		if s.broken == nil {
			s.broken = s.event(s.kind, list[i].Type, &list[i])
		}
	}
	if s.broken == nil {
		s.broken = s.FlushError()
	}
	return s.broken
}
