// Package engine executes requests of agents. It runs each request in a jail, and returns an answer that a program or a
// model can act on. The HTTP and MCP servers of brigd are thin layers over an Engine, and Go programs can use it
// directly.
//
//	e, err := engine.New(engine.Options{})
//	r := e.Run(ctx, engine.Caller{}, &engine.Request{Language: "python", Code: "print(6*7)"}, nil)
//
// # Theory of operation
//
//	Request ── check ──► Job ── lang ──► argv, code as a file of the jail
//	                      │
//	                      ├─ policies: the engine's own, then each of the token's: narrow the Spec, or refuse
//	                      ├─ ledger: counts the run of a token that limits runs
//	                      ▼
//	          audit ── Options.Wrap (metrics, traces) ── nsjail.Runner ──► Result ──► Response
//
// An Engine is the list of its services: runs, sandboxes, files, snapshots, changeSets, shares, images, languages,
// access (policies and tokens) and parking (warm interpreters). Each takes those that it uses when assemble makes it,
// and none knows the Engine. What several share has one owner: boxes is the table of sandboxes, leases has what ends
// with a token, Recorder the audit log. A run is a value of type run. The chain of Executors ends in it, by Job.By.
//
// A refused Job takes the same path, so that it is logged. The Runner then returns the refusal.
//
// Files and code are never stored on the host: they are written inside the jail (nsjail.MountData). A sandbox is a file
// system in memory with a quota (nsjail.Volume), which is mounted in one jail after the other.
//
// Package text filters the payload's output: it removes terminal escapes if requested, masks secrets and makes valid
// UTF-8. Then the head and the tail are kept.
package engine
