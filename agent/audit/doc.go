// Package audit writes down every run: one event before it and one after, as JSON lines in files that are only ever
// appended to, each line naming the hash of the line before.
//
//	l, err := audit.Open(audit.Options{Path: "/var/log/brig/audit.jsonl"})
//	e := audit.Wrap(runner, l)
//	result, err := e.Execute(ctx, job)
//
//	report, err := audit.Verify("/var/log/brig/audit.jsonl")
//
// # A line
//
//	{"seq":7,"time":"2030-01-01T12:00:00.5Z","prev":"…","event":"run.start",…,"sha256":"…"}
//
// The fields seq, time, prev and event come first, in this order, and sha256 last: it is the SHA-256 of the line's
// bytes before `,"sha256":`, so that a line is checked as it stands, whatever a JSON parser makes of it. prev is the
// sha256 of the line before, and 64 zeros in the first. Times are UTC. A field that does not apply is left out. See
// Event for all of them. A line is at most MaxLine bytes; longer texts are cut, and end with [+N bytes], lists with
// [+N].
//
//	run.start    run agent token sandbox language code_sha256 code_bytes argv_sha256 argc spec_sha256 verdict
//	run.end      run agent token sandbox language plan_sha256 status exit_code signal timed_out limits_hit output usage
//	             network violation error, and verdict where the refusal came from further in
//	run.refused  what run.start has, for a refused run: verdict has who refused it and why; there is no run.end
//	             plan_sha256 is of all that the launcher performs: the programs, and the identity and attributes of
//	             the mounts that are passed to it by descriptor
//	sandbox.create  agent token sandbox
//	sandbox.delete  likewise, and a note with the reason where it ends by itself; brigd's end ends all of them
//	file.put     agent token sandbox path bytes digest_sha256, and run where a run has brought it
//	file.delete  agent token sandbox path
//	auth.refused  source count verdict: a caller was refused; count is the number in a minute, left out for one
//	log.open     a writer has begun: note
//	log.close    it has ended in good order
//	log.gap      events could not be written: missed, runs, error
//	log.recovered  a torn line was set aside: file bytes digest_sha256
//	log.rotated  the first line of the next file: file is the new name of the one before
//	log.checkpoint  key signature: of the number and prev of this line
//
// Code, arguments, environment and output are never in it: a digest shows whether they were what somebody claims. The
// arguments themselves, and messages of errors and refusals, which may repeat one, are there on demand (Options.Argv):
// without it an error is what failed and the system's word for why, and a refusal its layer, code and rule.
//
// An event on a sandbox or file is written before it happens. Only sandbox.create is written afterwards, since the id
// is new: a sandbox whose event cannot be written is removed again. What runs write and remove there themselves has no
// event.
//
// Where a Job knows its secrets (nsjail.Job.Redact), they are taken out of the texts that a caller or a payload may
// have put them into, before these are cut: errors, refusals and their rules, what was narrowed, the language, the
// hosts of the network summary, and the arguments. Digests are of what was there.
//
// Names and messages come from callers and payloads. In a line there are printable characters only: everything that is
// not is \uNNNN, and bytes that are not UTF-8 are the four characters \xNN. So a name holds no line, no terminal
// sequence, and nothing that turns the direction of writing.
//
// # What a written event survives
//
// An event is written with one write(2) before its run begins. From then on a SIGKILL of the writer takes nothing. A
// power failure takes what is younger than the last fsync(2): with SyncInterval, the default, at most a second's
// events; with SyncAlways none, for a wait on the disk before each run, which those that wait together share. A line
// that was torn is recognised when the log is opened again, moved to Path.torn, and recorded.
//
// # When it cannot be written
//
// A full disk, an error of the disk, a log that was closed, moved, removed, cut off or written by somebody else (so no
// logrotate(8): Options.MaxBytes does that): the run or other operation is refused, and nothing happens. If the event
// after a run cannot be written, its result is returned with a note. From then on each run is refused until a write
// succeeds, and the first line that does is log.gap.
//
// # What it proves
//
// A changed, inserted, removed, doubled or moved line is found, with its number. What a chain by itself cannot show is
// that its end was cut off, or that all of it was written anew by somebody who can write the file. Against that: the
// count and last hash that Verify and Log.Last give, kept elsewhere (VerifyOptions.AnchorSeq); or checkpoints signed
// with a key (Options.Key), which whoever changes the file later does not have.
package audit
