package audit

import (
	"fmt"
	"strconv"

	"brig/nsjail"
)

// An event is written by hand and not by package encoding/json: there are two per run, and after a run the processor's
// caches are cold, so that reflection is the dearest part. What comes out is the same, byte for byte; a test compares them.

// encode gives an event's fields without the braces around them, bounded and escaped: nothing in it but printable
// characters, so that no terminal and no reader of lines is led astray.
func (e Event) encode() ([]byte, error) { return e.appendTo(nil) }

// appendTo is encode into a buffer that is used again.
func (e *Event) appendTo(to []byte) ([]byte, error) {
	w := writer{out: to}
	e.about(&w)
	e.outcome(&w)
	e.own(&w)
	if w.failed != nil {
		return to, w.failed
	}
	if n := len(w.out) - len(to); n > MaxLine-1026 { // room for its place in the chain
		return to, fmt.Errorf("an event of %d bytes; a line may have %d", n, MaxLine)
	}
	return w.out, nil
}

// about is what a run.start says.
func (e *Event) about(w *writer) {
	w.key("event")
	w.text(e.Kind, maxName)
	w.textField("run", e.Run, maxName)
	w.textField("agent", e.Agent, maxName)
	w.textField("token", e.Token, maxName)
	w.textField("sandbox", e.Sandbox, maxName)
	w.textField("language", e.Language, maxName)
	w.textField("code_sha256", e.CodeDigest, maxName)
	w.intField("code_bytes", int64(e.CodeBytes))
	w.textField("argv_sha256", e.ArgvDigest, maxName)
	w.intField("argc", int64(e.Argc))
	w.textField("spec_sha256", e.SpecDigest, maxName)
	w.textField("plan_sha256", e.PlanDigest, maxName)
	w.textField("path", e.Path, maxText)
	w.textField("source", e.Source, maxName)
	w.intField("count", e.Count)
	w.argv(e.Argv)
	if v := e.Verdict; v != nil {
		w.open("verdict")
		w.boolean("allowed", v.Allowed)
		w.list("policies", v.Policies, maxName)
		w.list("narrowed", v.Narrowed, maxText)
		w.textField("layer", v.Layer, maxName)
		w.textField("code", v.Code, maxName)
		w.textField("rule", v.Rule, maxText)
		w.textField("error", v.Error, maxText)
		w.close()
	}
}

// outcome is what a run.end says.
func (e *Event) outcome(w *writer) {
	w.textField("status", e.Status, maxName)
	if e.ExitCode != nil {
		w.integer("exit_code", int64(*e.ExitCode))
	}
	w.textField("signal", e.Signal, maxName)
	if e.TimedOut {
		w.boolean("timed_out", true)
	}
	w.list("limits_hit", e.LimitsHit, maxName)
	if o := e.Output; o != nil {
		w.open("output")
		w.integer("stdout_bytes", o.StdoutBytes)
		w.integer("stdout_dropped", o.StdoutDropped)
		w.integer("stderr_bytes", o.StderrBytes)
		w.integer("stderr_dropped", o.StderrDropped)
		w.close()
	}
	switch {
	case e.used != nil:
		w.usage(e.used)
	case len(e.Usage) > 0:
		w.raw("usage", e.Usage)
	}
	switch {
	case e.reached != nil:
		w.network(e.reached)
	case e.Network != nil:
		w.raw("network", e.Network)
	}
	if v := e.Violation; v != nil {
		w.open("violation")
		if v.Syscall != "" {
			w.key("syscall")
			w.quote(v.Syscall)
		}
		w.integer("number", int64(v.Number))
		w.key("arch")
		w.quote(v.Arch)
		w.integer("count", int64(v.Count))
		w.close()
	}
	w.textField("error", e.Error, maxText)
}

// own is what the log's own events say.
func (e *Event) own(w *writer) {
	w.textField("note", e.Note, maxText)
	w.textField("file", e.File, maxName)
	w.intField("bytes", e.Bytes)
	w.textField("digest_sha256", e.Digest, maxName)
	w.intField("missed", e.Missed)
	w.list("runs", e.Runs, maxName)
	w.textField("key", e.Key, maxName)
	w.textField("signature", e.Signature, maxName)
}

func (w *writer) usage(u *nsjail.Usage) {
	w.open("usage")
	w.millis("wall_ms", u.Wall)
	w.millis("user_ms", u.User)
	w.millis("system_ms", u.System)
	w.integer("max_rss_bytes", u.MaxRSS)
	w.integer("voluntary_switches", u.VoluntarySwitches)
	w.integer("involuntary_switches", u.ForcedSwitches)
	w.integer("major_faults", u.MajorFaults)
	w.count("disk_bytes", u.Disk)
	w.count("memory_peak_bytes", u.MemoryPeak)
	w.count("swap_peak_bytes", u.SwapPeak)
	w.count("pids_peak", u.PidsPeak)
	w.count("io_read_bytes", u.IORead)
	w.count("io_written_bytes", u.IOWritten)
	w.known("throttled_ms", u.Throttled)
	w.count("periods", u.Periods)
	w.count("throttled_periods", u.ThrottledPeriods)
	w.known("cpu_stall_ms", u.CPUStall)
	w.known("memory_stall_ms", u.MemoryStall)
	w.known("memory_full_stall_ms", u.MemoryFullStall)
	w.known("io_stall_ms", u.IOStall)
	w.known("io_full_stall_ms", u.IOFullStall)
	w.count("oom_kills", u.OOMKills)
	w.count("forks_refused", u.ForksRefused)
	w.close()
}

func (w *writer) network(n *reached) {
	w.open("network")
	w.integer("total", int64(n.total))
	w.tallies("by_verdict", n.verdicts)
	w.tallies("by_reason", n.reasons)
	w.tallies("by_host", n.hosts)
	w.integer("sent", n.sent)
	w.integer("received", n.received)
	w.intField("unrecorded", int64(n.unrecorded))
	w.close()
}

func (w *writer) tallies(name string, list []tally) {
	if len(list) == 0 {
		return
	}
	w.open(name)
	for i, t := range list {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.quote(t.name)
		w.out = append(w.out, ':')
		w.out = strconv.AppendInt(w.out, int64(t.n), 10)
	}
	w.close()
}
