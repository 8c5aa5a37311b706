package egress

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"brig/internal/rig"
)

// event is a line of the log, read without the product's types.
type event map[string]any

// text returns a field as headers write it.
func (e event) text(field string) string {
	switch v := e[field].(type) {
	case nil:
		return ""
	case float64:
		return fmt.Sprint(int64(v))
	default:
		return fmt.Sprint(v)
	}
}

func (e event) weight() int {
	if n, ok := e["repeated"].(float64); ok && n > 1 {
		return int(n)
	}
	return 1
}

func (e event) String() string {
	b, err := json.Marshal(e)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// summary is the report's network.
type summary struct {
	Total     int            `json:"total"`
	ByVerdict map[string]int `json:"by_verdict"`
	ByReason  map[string]int `json:"by_reason"`
	ByHost    map[string]int `json:"by_host"`
	ByMethod  map[string]int `json:"by_method"`
	ByStatus  map[string]int `json:"by_status"`
	Sent      int64          `json:"sent"`
	Received  int64          `json:"received"`
	Recent    []event        `json:"recent"`
	Dropped   int            `json:"lines_dropped"`
}

// readLog checks that every line is one JSON object of printable ASCII, and returns them.
func readLog(t *testing.T, log []byte) (events []event) {
	t.Helper()
	if len(log) > 0 && log[len(log)-1] != '\n' {
		t.Errorf("the last line of the log has no end: %q", tail(log))
	}
	for line := range bytes.Lines(log) {
		body := bytes.TrimSuffix(line, []byte("\n"))
		if i := bytes.IndexFunc(body, func(r rune) bool { return r < ' ' || r > '~' }); i >= 0 {
			t.Errorf("a line of the log has the byte %#x: %q", body[i], tail(body))
		}
		if len(line) > 2048 {
			t.Errorf("a line of the log has %d bytes", len(line))
		}
		var e event
		dec := json.NewDecoder(bytes.NewReader(body))
		if err := dec.Decode(&e); err != nil || dec.More() {
			t.Errorf("a line of the log is not one JSON object: %v: %q", err, tail(body))
			continue
		}
		for _, field := range []string{"time", "kind", "verdict"} {
			if e.text(field) == "" {
				t.Errorf("a line of the log has no %s: %s", field, e)
			}
		}
		events = append(events, e)
	}
	return events
}

func tail(b []byte) []byte { return b[max(0, len(b)-300):] }

// checkLog checks that the log has each line of the header exactly times= times, and no other but answered DNS queries.
func checkLog(t *testing.T, a *rig.Attack, events []event) {
	t.Helper()
	found := make([]int, len(a.Logs))
	for _, e := range events {
		if e.text("kind") == "dns" && e.text("verdict") == "allow" {
			continue
		}
		i := slices.IndexFunc(a.Logs, func(w rig.LogLine) bool { return matches(&w, e) })
		if i < 0 {
			t.Errorf("a line that nobody expects: %s", e)
			continue
		}
		found[i] += e.weight()
	}
	for i, w := range a.Logs {
		if w.Times >= 0 && found[i] != w.Times || found[i] == 0 {
			t.Errorf("%d attempts are logged as %s, want %d (-1: any)", found[i], w.Text, w.Times)
		}
	}
}

func matches(w *rig.LogLine, e event) bool {
	for field, values := range w.Fields {
		got := e.text(field)
		if !slices.ContainsFunc(values, func(v string) bool {
			part, contains := strings.CutPrefix(v, "~")
			return v == got || contains && strings.Contains(got, part)
		}) {
			return false
		}
	}
	return true
}

// checkSummary checks that the report's sums are those of the lines.
func checkSummary(t *testing.T, s *summary, events []event) {
	t.Helper()
	if s == nil {
		t.Error("the report has no network")
		return
	}
	total, sent, received := 0, int64(0), int64(0)
	verdicts, reasons, statuses, methods := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	for _, e := range events {
		n := e.weight()
		total += n
		verdicts[e.text("verdict")] += n
		for field, m := range map[string]map[string]int{"reason": reasons, "status": statuses, "method": methods} {
			if v := e.text(field); v != "" {
				m[v] += n
			}
		}
		sent += number(e["sent"])
		received += number(e["received"])
	}
	hosts := 0
	for _, n := range s.ByHost {
		hosts += n
	}
	if s.Dropped > 0 {
		return // the log has fewer lines, as the report tells
	}
	if s.Total != total || s.Sent != sent || s.Received != received || hosts != total {
		t.Errorf("the report counts %d attempts (%d by host), %d bytes sent, %d received; the lines say %d, %d, %d", s.Total, hosts, s.Sent, s.Received,
			total, sent, received)
	}
	for what, pair := range map[string][2]map[string]int{"verdict": {s.ByVerdict, verdicts}, "reason": {s.ByReason, reasons},
		"status": {s.ByStatus, statuses}, "method": {s.ByMethod, methods}} {
		if fmt.Sprint(pair[0]) != fmt.Sprint(pair[1]) && len(pair[1]) < 16 {
			t.Errorf("the report counts by %s %v, the lines say %v", what, pair[0], pair[1])
		}
	}
	if len(s.Recent) != min(20, len(events)) {
		t.Errorf("the report has %d recent lines of %d", len(s.Recent), len(events))
	}
}

func number(v any) int64 {
	n, _ := v.(float64)
	return int64(n)
}
