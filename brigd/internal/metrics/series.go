package metrics

import (
	"cmp"
	"slices"
	"time"

	"brig/brigd/job"
	"brig/brigd/policy"
	"brig/netns/egress"
	"brig/nsjail"
	"brig/nsjail/spec"

	"github.com/prometheus/client_golang/prometheus"
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
	layers     = []string{"request", "auth", "token", "policy", "quota", "queue", "sandbox", "audit", "jail", other}
	rejections = []string{"queue_full", "rate_limited", "draining", other}
	limitNames = append(countedLimits(), "disk", other)
	verdicts   = []string{string(egress.VerdictAllow), string(egress.VerdictDeny), string(egress.VerdictError)}
	phaseNames = []string{"look", "resolve", "prepare", "spawn", "exec", "end"}
)

// countedLimits returns the names of the limits that a Result can list as hit.
func countedLimits() (names []string) {
	for r := range spec.LimitTable() {
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

// vectors makes the counters with a label.
func (m *Metrics) vectors() {
	vector := func(name, help, label string, values ...string) *prometheus.CounterVec {
		c := m.factory.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
		for _, v := range values {
			c.WithLabelValues(v)
		}
		return c
	}
	m.executions = vector("sandbox_executions_total", "Runs, by how they ended; refused ones have not begun.", "status",
		statuses...)
	m.violations = vector("sandbox_violations_total",
		"Attempts at what is forbidden, by its kind: a system call or a network destination.", "type", "syscall", "network")
	m.refusals = vector("sandbox_refusals_total", "Runs that were refused, by who said no.", "layer", layers...)
	m.rejected = vector("sandbox_rejected_total", "Runs that were not let into the queue, by why.", "reason",
		rejections...)
	m.limits = vector("sandbox_limits_hit_total", "Runs that have met a limit, by the limit.", "limit", limitNames...)
	m.attempts = vector("sandbox_egress_attempts_total",
		"Connections, HTTP requests and look-ups that runs have tried, by the policy's verdict.", "verdict", verdicts...)
}

// totals are the counters that add up a number of each run. A negative number of Usage is one that this kernel does not
// report.
var totals = []struct {
	name, help string
	of         func(r *nsjail.Result, net *egress.Summary) float64
}{
	{"sandbox_cpu_user_seconds_total", "Processor time of runs in user mode.",
		func(r *nsjail.Result, _ *egress.Summary) float64 { return seconds(r.Usage.User) }},
	{"sandbox_cpu_system_seconds_total", "Processor time of runs in the kernel.",
		func(r *nsjail.Result, _ *egress.Summary) float64 { return seconds(r.Usage.System) }},
	{"sandbox_cpu_throttled_seconds_total",
		"Time that runs were held back by their share of processors; only of those in a control group.",
		func(r *nsjail.Result, _ *egress.Summary) float64 { return seconds(r.Usage.Throttled) }},
	{"sandbox_cpu_throttled_periods_total", "Periods in which runs were held back by their share of processors.",
		func(r *nsjail.Result, _ *egress.Summary) float64 { return float64(r.Usage.ThrottledPeriods) }},
	{"sandbox_oom_kills_total", "Processes of runs that the kernel has killed for want of memory.",
		func(r *nsjail.Result, _ *egress.Summary) float64 { return float64(r.Usage.OOMKills) }},
	{"sandbox_io_read_bytes_total", "Bytes that runs have read from disks; only of those in a control group.",
		func(r *nsjail.Result, _ *egress.Summary) float64 { return float64(r.Usage.IORead) }},
	{"sandbox_io_written_bytes_total", "Bytes that runs have written to disks; only of those in a control group.",
		func(r *nsjail.Result, _ *egress.Summary) float64 { return float64(r.Usage.IOWritten) }},
	{"sandbox_output_bytes_total", "Bytes that runs have written to stdout and stderr.",
		func(r *nsjail.Result, _ *egress.Summary) float64 {
			return float64(r.Output.StdoutBytes + r.Output.StderrBytes)
		}},
	{"sandbox_output_dropped_bytes_total", "Bytes of stdout and stderr over the limit on output.",
		func(r *nsjail.Result, _ *egress.Summary) float64 {
			return float64(r.Output.StdoutDropped + r.Output.StderrDropped)
		}},
	{"sandbox_egress_sent_bytes_total", "Bytes that runs have sent to the network.",
		func(_ *nsjail.Result, net *egress.Summary) float64 { return float64(net.Sent) }},
	{"sandbox_egress_received_bytes_total", "Bytes that runs have received from the network.",
		func(_ *nsjail.Result, net *egress.Summary) float64 { return float64(net.Received) }},
	{"sandbox_egress_unrecorded_total",
		"Attempts at the network that came faster than they could be written down one by one, and lines that the log did " +
			"not take.",
		func(_ *nsjail.Result, net *egress.Summary) float64 { return float64(net.Unrecorded + net.LinesDropped) }},
}

func (m *Metrics) histograms() {
	histogram := func(name, help string, buckets ...float64) prometheus.Histogram {
		return m.factory.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	}
	m.seconds = histogram("sandbox_execution_seconds", "How long runs take, from the making of the jail to its end.",
		0.1, 0.5, 1, 5, 10, 30)
	m.wait = histogram("sandbox_queue_wait_seconds", "How long runs wait for a place.",
		0.001, 0.01, 0.1, 0.5, 1, 5, 10, 30, 60)
	m.memory = histogram("sandbox_memory_peak_bytes",
		"The most memory that a run has held: its control group's peak, or the largest process.",
		1<<20, 4<<20, 16<<20, 64<<20, 256<<20, 1<<30, 4<<30, 16<<30)
	// The buckets begin at a tenth of a millisecond: a start takes about two milliseconds.
	m.phases = m.factory.NewHistogramVec(prometheus.HistogramOpts{Name: "sandbox_start_phase_seconds",
		Help:    "The parts of a jail's start, one after the other, and its end; the run itself is not among them.",
		Buckets: []float64{0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1}}, []string{"phase"})
	for _, p := range phaseNames {
		m.phases.WithLabelValues(p)
	}
}

// refused counts a refusal.
func (m *Metrics) refused(r *job.Refusal) {
	m.executions.WithLabelValues(statusRefused).Inc()
	m.refusals.WithLabelValues(known(r.Layer, layers)).Inc()
	if r.Layer == "audit" {
		m.audit.Inc()
	}
}

// ended counts the outcome and the usage of a run.
func (m *Metrics) ended(r *nsjail.Result) {
	m.executions.WithLabelValues(known(string(r.Status), statuses)).Inc()
	for _, l := range r.LimitsHit {
		m.limits.WithLabelValues(known(l, limitNames)).Inc()
	}
	if r.Violation != nil {
		m.violations.WithLabelValues("syscall").Add(float64(max(r.Violation.Count, 1)))
	}
	for _, d := range r.Denials {
		if d.Layer == "syscall" {
			m.violations.WithLabelValues("syscall").Add(float64(max(d.Count, 0)))
		}
	}
	m.memory.Observe(float64(max(int64(r.Usage.MemoryPeak), r.Usage.MaxRSS, 0)))
	for i, us := range []int64{r.Phases.Look, r.Phases.Resolve, r.Phases.Prepare, r.Phases.Spawn, r.Phases.Exec,
		r.Phases.End} {
		m.phases.WithLabelValues(phaseNames[i]).Observe(float64(max(us, 0)) / 1e6)
	}
	net := cmp.Or(r.Network, &egress.Summary{})
	for _, v := range verdicts {
		m.attempts.WithLabelValues(v).Add(float64(net.ByVerdict[egress.Verdict(v)]))
	}
	m.violations.WithLabelValues("network").Add(float64(net.ByVerdict[egress.VerdictDeny]))
	for i, t := range totals {
		m.totals[i].Add(max(t.of(r, net), 0)) // a counter panics on a negative value
	}
}

func seconds(m nsjail.Millis) float64 { return time.Duration(m).Seconds() }

// usage collects both gauges with one reading of each control group.
type usage func() (memory, tasks float64)

var (
	liveMemory = prometheus.NewDesc("sandbox_live_memory_bytes",
		"Memory that the control groups of running jails hold now.", nil, nil)
	liveTasks = prometheus.NewDesc("sandbox_live_tasks", "Processes and threads in the control groups of running jails.",
		nil, nil)
)

// Describe implements prometheus.Collector.
func (u usage) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(u, out) }

// Collect implements prometheus.Collector.
func (u usage) Collect(out chan<- prometheus.Metric) {
	memory, tasks := u()
	out <- prometheus.MustNewConstMetric(liveMemory, prometheus.GaugeValue, memory)
	out <- prometheus.MustNewConstMetric(liveTasks, prometheus.GaugeValue, tasks)
}

// mounts makes the counter of shares' mounts.
func (m *Metrics) mounts(names []string) {
	m.shares = m.factory.NewCounterVec(prometheus.CounterOpts{Name: "sandbox_share_mounts_total",
		Help: "Directories of the operator's that runs were shown, by the share's name and the mode."},
		[]string{"share", "mode"})
	for _, name := range names {
		for _, mode := range policy.ShareModes {
			m.shares.WithLabelValues(name, mode)
		}
	}
}

// roots makes the counter of images' runs.
func (m *Metrics) roots(names []string) {
	m.images = m.factory.NewCounterVec(prometheus.CounterOpts{Name: "sandbox_image_runs_total",
		Help: "Runs whose root was an image of the operator's, by its name."}, []string{"image"})
	for _, name := range names {
		m.images.WithLabelValues(name)
	}
}

// shown counts the image and the shares of a run. Their names are the operator's.
func (m *Metrics) shown(j *job.Job) {
	if j.Image != nil {
		m.images.WithLabelValues(j.Image.Name).Inc()
	}
	for i := range j.Spec.Mounts {
		if mount := &j.Spec.Mounts[i]; mount.Held != nil {
			m.shares.WithLabelValues(mount.Held.Name, policy.ShareMode(mount)).Inc()
		}
	}
}
