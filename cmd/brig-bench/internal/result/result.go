// Package result holds what a benchmark run has found, as data: it is the JSON that `brig-bench --json` writes, and
// what the terminal's table and the HTML report are drawn from.
package result

import (
	"fmt"
	"time"
)

// Report is a whole run, or the range over several.
type Report struct {
	Started  time.Time   `json:"started"`
	Finished time.Time   `json:"finished"`
	Runs     []time.Time `json:"runs,omitempty"` // when each began, if they are several
	Quick    bool        `json:"quick"`
	Machine  Machine     `json:"machine"`
	Tools    []Tool      `json:"tools"`
	Tables   []Table     `json:"tables"`
}

// Machine is where the run took place. Nothing in it names the machine or its owner.
type Machine struct {
	CPU        string  `json:"cpu"`
	Processors int     `json:"processors"` // that this process may use
	Memory     int64   `json:"memory_bytes"`
	Kernel     string  `json:"kernel"`
	OS         string  `json:"os"`
	Virtual    string  `json:"virtual,omitempty"` // the hypervisor, if one shows itself
	Cgroups    string  `json:"cgroups"`
	User       string  `json:"user"` // "root" or "user"
	LoadBefore float64 `json:"load_before"`
	LoadAfter  float64 `json:"load_after"`
}

// Warning returns a sentence if the load average left too little of the processors for a measurement, else "".
func (m *Machine) Warning() string {
	if m.LoadBefore <= 0.5*float64(m.Processors) {
		return ""
	}
	return fmt.Sprintf("The load average before the run was %.1f on %d processors: "+
		"figures may be too high, and differences hidden.", m.LoadBefore, m.Processors)
}

// Tool is a contender.
type Tool struct {
	Name    string   `json:"name"`
	Version string   `json:"version,omitempty"`
	Absent  string   `json:"absent,omitempty"`  // why it took no part
	Differs []string `json:"differs,omitempty"` // where its jail is not the same as brig's default jail
}

// Table answers one question.
type Table struct {
	ID       string   `json:"id"` // a word: "latency", "memory"
	Title    string   `json:"title"`
	Question string   `json:"question"` // in a sentence
	Unit     string   `json:"unit"`     // "ms", "KiB", "1/s"
	Higher   bool     `json:"higher_is_better,omitempty"`
	X        string   `json:"x,omitempty"` // what Row.X counts: "clients", "host mounts"; "" for a table without one
	Rows     []Row    `json:"rows"`
	Notes    []string `json:"notes,omitempty"`
}

// Row is one tool's answer, at one X.
type Row struct {
	Tool  string  `json:"tool"`
	X     float64 `json:"x,omitempty"`
	N     int     `json:"n"` // samples
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90,omitempty"`
	P99   float64 `json:"p99,omitempty"`
	Ratio *Ratio  `json:"ratio,omitempty"`
	Error string  `json:"error,omitempty"` // why there is no figure

	Medians []float64 `json:"medians,omitempty"` // of several runs: P50 is their median
}

// Ratio compares with another tool, or with the same tool at another X, from paired samples.
type Ratio struct {
	To      string  `json:"to"`
	Median  float64 `json:"median"`
	Low     float64 `json:"low"` // of the 95 % bootstrap interval
	High    float64 `json:"high"`
	Verdict string  `json:"verdict"` // "faster", "slower", "less", "more" or "no difference shown"
}
