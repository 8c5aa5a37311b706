// Package engine is the executor of an agent: it takes requests as agents make them, runs each in a jail, and answers
// in a form that a program or a model can act on. The HTTP and MCP faces of brigd are thin layers over an Engine; a Go
// program uses it the same way.
//
//	e, err := engine.New(engine.Options{})
//	r := e.Run(ctx, engine.Caller{}, &engine.Request{Language: "python", Code: "print(6*7)"}, nil)
//
// # Theory of operation
//
//	Request ── check ──► Job ── lang ──► argv, code as a file of the jail
//	                      │
//	                      ├─ policies: the engine's own, then each of the token's: narrow the Spec, or refuse
//	                      ├─ ledger: a token that allows so many runs loses one
//	                      ▼
//	          audit ── Options.Wrap (metrics, traces) ── nsjail.Runner ──► Result ──► Response
//
// A Job that was refused goes the same way, so that it is written down, and the Runner answers with the
// refusal.
//
// Files and code never stand on the host: they are written inside the jail (nsjail.MountData). A sandbox is a file
// system in memory with a quota (nsjail.Volume), shown to one jail after the other.
//
// The payload's output passes through package text: terminal escapes off if asked for, secrets masked, valid UTF-8, and
// then head and tail are kept.
package engine
