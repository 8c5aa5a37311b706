// Package api is brigd's HTTP face: JSON in, JSON or a stream of events out, and nothing that decides: what may run is
// the engine's business, how many at once the gate's, and who asks the authenticator's.
//
// # One list
//
// routes() is the only list of what there is. The router matches by it, query parameters are checked by it, and the
// OpenAPI document (OpenAPI, docs/openapi.json) is made from it and from the Go types that it names; tests check every
// request and every answer of theirs against that document.
//
// # The way of a request
//
//	headers ─► Host, Origin ─► authenticator ─► route, query ─► body ─► gate ─► engine ─► answer
//	           421, 403        401              404, 405, 400   4xx     429, 503  any     200
//
// Paths are matched as they were sent, segment by segment, and decoded afterwards: nothing is cleaned or redirected, so
// that a name cannot mean one thing here and another one further in. Whoever comes by TCP has to show something.
//
// A body is read within a time and within a common budget of memory, taken as the bytes come. What is written has a
// time, too: a client that does not read loses its run instead of holding a place. A client that goes away cancels its
// run.
//
// # Answers
//
// A run that has happened is 200, whatever became of it. Where nothing has run, the answer is an nsjail.Refusal with
// the status that fits: see statusOf.
package api
