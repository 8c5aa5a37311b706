package api

import (
	"log/slog"
	"net/url"

	"brig/brigd/internal/front"
)

// call is one request in progress: its facts, and its answer.
type call struct {
	*front.Visit
	route *route
	id    string // of the path: a sandbox or a run
	name  string // of the path: a process of a sandbox, by its pid, tag or id; or a port
	path  string // of a file, absolute, as the jail sees it
	query url.Values
	asked bool // the gate has been asked
}

// route is one operation of the interface. The router, the check of the query and the OpenAPI document use it.
type route struct {
	method, path string // {id} is a sandbox's or a run's, {name} a process's; {path} the rest
	id           string // operationId, and the name in the log
	summary      string
	query        []param
	in           any        // a value of the JSON body's type; nil for no body
	bare         bool       // a request without a body asks for the defaults
	raw          string     // the media type of a body that is not JSON
	status       int        // of success
	out          any        // a value of the JSON answer's type; nil for none
	rawOut       string     // the media type of an answer that is not JSON
	events       bool       // the answer may also be a stream of events
	eventOf      any        // a value of their type, unless that is engine.Event
	stream       any        // a value of the type of events, if the answer is a stream of these
	later        bool       // the answer may also be 202 and a RunInfo
	open         bool       // without authentication, also by TCP
	through      bool       // with any method, query and path below it: a server of a sandbox answers
	fails        []int      // the statuses of further refusals, besides usual
	level        slog.Level // of the line in the log
	// handle returns the JSON answer, unless it has written another.
	handle func(*call) (any, error)
}

// param is a parameter of the query.
type param struct {
	name, about string
	values      []string // the allowed ones; nil is any
}

// no returns a refusal.
var no = front.Refuse
