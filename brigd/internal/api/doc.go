// Package api is brigd's HTTP interface: JSON in, JSON or a stream of events out. It makes no decisions of its own: the
// engine decides what may run, the gate how many run at once, and the authenticator who the caller is.
//
// # One list
//
// routes() is the only list of routes. The router matches against it, query parameters are checked against it, and the
// OpenAPI document (OpenAPI, docs/openapi.json) is generated from it and from the Go types that it names. Tests check
// all their requests and answers against that document.
//
// # Processing of a request
//
//	headers -> Host, Origin -> authenticator -> route, query -> body -> gate -> engine -> answer
//	           421, 403        401              404, 405, 400   4xx     429, 503  any     200
//
// Paths are matched as sent, segment by segment, and decoded afterwards. They are neither cleaned nor redirected, so
// that a name has one meaning everywhere. A TCP client must authenticate.
//
// A body has a time limit and counts against a memory budget for all requests, as its bytes arrive. Writes have a time
// limit, too: a client that does not read loses its run instead of holding a place. A client that disconnects cancels
// its run.
//
// # Answers
//
// A run that took place is answered with 200, whatever its result. If nothing has run, the answer is a job.Refusal
// with the matching status: see statusOf.
package api
