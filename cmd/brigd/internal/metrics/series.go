package metrics

import (
	"slices"
	"time"

	"brig/netns/egress"
	"brig/nsjail"
)

// statusRefused is the status of a refused run.
const statusRefused = "refused"

// other replaces a label value that is not listed.
const other = "other"

// The values of labels.
var (
	statuses = []string{string(nsjail.StatusOK), string(nsjail.StatusFailed), string(nsjail.StatusSignal),
		string(nsjail.StatusTimeout), string(nsjail.StatusCPU),
		string(nsjail.StatusMemory), string(nsjail.StatusProcesses), string(nsjail.StatusOutput), string(nsjail.StatusDisk),
		string(nsjail.StatusViolation),
		string(nsjail.StatusCancelled), string(nsjail.StatusError), statusRefused, other}
	violationTypes = []string{"syscall", "network"}
	layers         = []string{"request", "auth", "token", "policy", "quota", "queue", "sandbox", "audit", "jail", other}
	rejections     = []string{"queue_full", "rate_limited", "draining", other}
	limitNames     = append(countedLimits(), "disk", other)
	verdicts       = []string{string(egress.VerdictAllow), string(egress.VerdictDeny), string(egress.VerdictError)}
	phaseNames     = []string{"look", "resolve", "prepare", "spawn", "exec", "end"}
)

// countedLimits returns the names of the limits that a Result can list as hit.
func countedLimits() (names []string) {
	for _, r := range nsjail.LimitTable() {
		if r.Counted {
			names = append(names, r.Name)
		}
	}
	return names
}

// known returns v if it is in the list, and other if not.
func known(v string, list []string) string {
	if slices.Contains(list, v) {
		return v
	}
	return other
}

func (m *Metrics) counters() {
	m.executions = m.vector("sandbox_executions_total", "Runs, by how they ended; refused ones have not begun.", "status",
		statuses...)
	m.violations = m.vector("sandbox_violations_total",
		"Attempts at what is forbidden, by its kind: a system call or a network destination.", "type", violationTypes...)
	m.refusals = m.vector("sandbox_refusals_total", "Runs that were refused, by who said no.", "layer", layers...)
	m.rejected = m.vector("sandbox_rejected_total", "Runs that were not let into the queue, by why.", "reason",
		rejections...)
	m.limits = m.vector("sandbox_limits_hit_total", "Runs that have met a limit, by the limit.", "limit", limitNames...)
	m.attempts = m.vector("sandbox_egress_attempts_total",
		"Connections, HTTP requests and look-ups that runs have tried, by the policy's verdict.", "verdict", verdicts...)
	m.active = m.newActive()
	m.user = m.counter("sandbox_cpu_user_seconds_total", "Processor time of runs in user mode.")
	m.system = m.counter("sandbox_cpu_system_seconds_total", "Processor time of runs in the kernel.")
	m.throttled = m.counter("sandbox_cpu_throttled_seconds_total",
		"Time that runs were held back by their share of processors; only of those in a control group.")
	m.throttledPeriods = m.counter("sandbox_cpu_throttled_periods_total",
		"Periods in which runs were held back by their share of processors.")
	m.oomKills = m.counter("sandbox_oom_kills_total", "Processes of runs that the kernel has killed for want of memory.")
	m.ioRead = m.counter("sandbox_io_read_bytes_total",
		"Bytes that runs have read from disks; only of those in a control group.")
	m.ioWritten = m.counter("sandbox_io_written_bytes_total",
		"Bytes that runs have written to disks; only of those in a control group.")
	m.outBytes = m.counter("sandbox_output_bytes_total", "Bytes that runs have written to stdout and stderr.")
	m.outDropped = m.counter("sandbox_output_dropped_bytes_total", "Bytes of stdout and stderr over the limit on output.")
	m.egressSent = m.counter("sandbox_egress_sent_bytes_total", "Bytes that runs have sent to the network.")
	m.egressReceived = m.counter("sandbox_egress_received_bytes_total", "Bytes that runs have received from the network.")
	m.audit = m.counter("sandbox_audit_failures_total",
		"Runs that were refused because they could not be written to the audit log.")
	m.lost = m.counter("sandbox_egress_unrecorded_total",
		"Attempts at the network that came faster than they could be written down one by one, and lines that the log did "+
			"not take.")
}

func (m *Metrics) histograms() {
	m.seconds = m.histogram("sandbox_execution_seconds", "How long runs take, from the making of the jail to its end.",
		[]float64{0.1, 0.5, 1, 5, 10, 30})
	m.wait = m.histogram("sandbox_queue_wait_seconds", "How long runs wait for a place.",
		[]float64{0.001, 0.01, 0.1, 0.5, 1, 5, 10, 30, 60})
	m.memory = m.histogram("sandbox_memory_peak_bytes",
		"The most memory that a run has held: its control group's peak, or the largest process.",
		[]float64{1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30, 4 << 30, 16 << 30})
	m.phases = m.newPhases()
}

// refused counts a refusal.
func (m *Metrics) refused(r *nsjail.Refusal) {
	m.executions.WithLabelValues(statusRefused).Inc()
	m.refusals.WithLabelValues(known(r.Layer, layers)).Inc()
	if r.Layer == "audit" {
		m.audit.Inc()
	}
}

// ended counts the outcome and the usage of a run. A negative field of Usage is one that this kernel does not report.
func (m *Metrics) ended(r *nsjail.Result) {
	m.executions.WithLabelValues(known(string(r.Status), statuses)).Inc()
	for _, l := range r.LimitsHit {
		m.limits.WithLabelValues(known(l, limitNames)).Inc()
	}
	if r.Violation != nil {
		m.violations.WithLabelValues("syscall").Add(float64(max(r.Violation.Count, 1)))
	}
	u := &r.Usage
	m.user.Add(seconds(u.User))
	m.system.Add(seconds(u.System))
	m.throttled.Add(seconds(u.Throttled))
	m.throttledPeriods.Add(positive(int64(u.ThrottledPeriods)))
	m.oomKills.Add(positive(int64(u.OOMKills)))
	m.ioRead.Add(positive(int64(u.IORead)))
	m.ioWritten.Add(positive(int64(u.IOWritten)))
	m.memory.Observe(max(positive(int64(u.MemoryPeak)), positive(u.MaxRSS)))
	m.outBytes.Add(positive(r.Output.StdoutBytes) + positive(r.Output.StderrBytes))
	m.outDropped.Add(positive(r.Output.StdoutDropped) + positive(r.Output.StderrDropped))
	for i, us := range []int64{r.Phases.Look, r.Phases.Resolve, r.Phases.Prepare, r.Phases.Spawn, r.Phases.Exec,
		r.Phases.End} {
		m.phases.WithLabelValues(phaseNames[i]).Observe(positive(us) / 1e6)
	}
	if r.Network != nil {
		m.network(r.Network)
	}
}

func (m *Metrics) network(s *egress.Summary) {
	for v, n := range s.ByVerdict {
		if slices.Contains(verdicts, string(v)) {
			m.attempts.WithLabelValues(string(v)).Add(positive(int64(n)))
		}
	}
	m.violations.WithLabelValues("network").Add(positive(int64(s.ByVerdict[egress.VerdictDeny])))
	m.egressSent.Add(positive(s.Sent))
	m.egressReceived.Add(positive(s.Received))
	m.lost.Add(positive(int64(s.Unrecorded)) + positive(int64(s.LinesDropped)))
}

// positive returns n, or 0 if it is unknown: a counter panics on a negative value.
func positive(n int64) float64 { return float64(max(n, 0)) }

func seconds(m nsjail.Millis) float64 { return max(time.Duration(m).Seconds(), 0) }
