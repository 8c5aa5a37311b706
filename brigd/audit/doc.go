// Package audit logs every run: one event before it and one after it. Events are JSON lines in append-only files. Each
// line contains the hash of the previous line.
//
//	l, err := audit.Open(audit.Options{Path: "/var/log/brig/audit.jsonl"})
//	e := audit.Wrap(runner, l)
//	result, err := e.Execute(ctx, job)
//
//	report, err := audit.VerifyOptions{}.Verify("/var/log/brig/audit.jsonl")
//
// # A line
//
//	{"seq":7,"time":"2030-01-01T12:00:00.5Z","prev":"…","event":"run.start",…,"sha256":"…"}
//
// The fields seq, time, prev and event come first, in this order, and sha256 comes last. It is the SHA-256 of the
// line's bytes before `,"sha256":`, so that a line can be checked without a JSON parser. prev is the sha256 of the
// previous line, and 64 zeros in the first. Times are UTC. Fields that do not apply are omitted. Event documents all
// fields. A line is at most MaxLine bytes. Longer texts are truncated and end with [+N bytes], longer lists with [+N].
//
//	run.start    run agent token sandbox language code_sha256 code_bytes argv_sha256 argc spec_sha256 verdict
//	run.end      run agent token sandbox language plan_sha256 status exit_code signal timed_out limits_hit warm output
//	             usage network violation denials error, and verdict if a later executor refused the run.
//	             plan_sha256 covers all that the launcher performs: the programs, and the identity and attributes of
//	             the mounts that are passed to it by descriptor
//	run.refused  the fields of run.start, for a refused run: verdict has the layer and the reason; there is no run.end
//	sandbox.create  agent token sandbox
//	sandbox.delete  the same, and a note with the cause if the sandbox was not deleted by request; the end of brigd
//	             deletes all of them
//	file.put     agent token sandbox path bytes digest_sha256, and run if a run's request contained the file
//	file.delete  agent token sandbox path
//	file.move    agent token sandbox path to
//	file.chmod   agent token sandbox path note
//	dir.make     agent token sandbox path
//	auth.refused  source count verdict: a caller was refused; count is the number in a minute, omitted for one
//	log.open     a writer has opened the log: note
//	log.close    it has closed the log
//	log.gap      events could not be written: missed, runs, error
//	log.recovered  an incomplete line was moved away: file bytes digest_sha256
//	log.rotated  the first line of a new file: file is the new name of the previous one
//	log.checkpoint  key signature: of the number and prev of this line
//
// The log never contains code, environment or output. A digest can show whether they were what somebody claims.
// Arguments, and messages of errors and refusals, which may contain arguments, are logged only with Options.Argv.
// Without it, an error is logged as the failed operation and the system's error text, and a refusal as its layer, code
// and rule.
//
// An event about a sandbox or a file is written before the operation. Only sandbox.create is written afterwards, since
// the id is not known before. If its event cannot be written, the sandbox is removed again. Files that a payload writes
// or removes in a sandbox cause no event.
//
// If a Job knows its secrets (job.Job.Redact), they are removed from texts that may contain input of a caller or a
// payload, before these are truncated: errors, refusals and their rules, what was narrowed, the language, the hosts in
// the network summary, and the arguments. Digests are of the original.
//
// Names and messages come from callers and payloads. A line contains printable characters only: others are escaped as
// \uNNNN, and invalid UTF-8 bytes become the four characters \xNN. So a name cannot contain a line break, a terminal
// sequence or a character that changes the text direction.
//
// # Durability
//
// An event is written with one write(2) before its run begins. After that, it survives a SIGKILL of the writer. A power
// failure loses what is newer than the last fsync(2). With SyncInterval, the default, these are the events of at most
// one second. With SyncAlways no event is lost, but each run waits for the disk; concurrent runs share one fsync(2). An
// incomplete line is detected when the log is opened again, moved to Path.torn, and recorded.
//
// # Write errors
//
// If an event cannot be written, the run or other operation is refused and does not happen. Causes are a full disk, an
// I/O error, and a log that was closed, moved, removed, truncated or modified by another process (so logrotate(8)
// cannot be used; see Options.MaxBytes). If the event after a run cannot be written, the result is returned with a
// note. From then on every run is refused until a write succeeds. The first line written then is log.gap.
//
// # What it proves
//
// Verify detects a changed, inserted, removed, duplicated or moved line, and reports its number. The hash chain alone
// cannot show that the end was cut off, or that somebody with write access has rewritten the whole log. There are two
// remedies: keep the count and the last hash, as returned by Verify, elsewhere (VerifyOptions.AnchorSeq);
// or sign checkpoints with a key (Options.Key) that a later attacker does not have.
package audit
