package audit

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"brig/brigd/job"
	"brig/internal/test/must"
	"brig/netns/egress"
	"brig/nsjail"
)

//go:embed testdata/events.golden
var golden []byte

// TestGolden compares events with lines of earlier versions: the form of the log does not change.
func TestGolden(t *testing.T) {
	code, summary := 3, egress.Summary{Total: 3, Sent: 1}
	usage := nsjail.Usage{Wall: nsjail.Millis(1500 * time.Microsecond), MaxRSS: 5, Disk: -1, IORead: 3}
	var got []byte
	for _, e := range []Event{
		{Kind: RunStart, Run: "run_1", Agent: "a\x1b[31m\u202e<&>", Token: "t", Sandbox: "sb",
			Language:   strings.Repeat("x", 300),
			CodeDigest: "c", CodeBytes: 5, ArgvDigest: "d", Argc: 2, SpecDigest: "s", PlanDigest: "p", Path: "/work/\xff\u0085",
			Source: "1.2.3.4", Count: 7, Argv: []string{"sh", "\"\\\b\f\n\r\t\x00\x7f", "é日\U0001f600\U000e0041\u2028"},
			Verdict: &Verdict{Allowed: true, Policies: []string{"minimal"}, Narrowed: make([]string, 33)}},
		{Kind: RunRefused, Verdict: &Verdict{Layer: "policy", Code: "c", Rule: "r", Error: "no"}},
		{Kind: RunEnd, Status: "failed", ExitCode: &code, Signal: "SIGKILL", TimedOut: true, LimitsHit: []string{"memory"},
			Output: &nsjail.Output{StdoutBytes: 1}, Usage: []byte(`{"wall_ms": 1.50}`),
			Network:   &Network{Total: 2, ByVerdict: map[string]int{"deny": 1, "allow": 1}, Sent: 3},
			Violation: &nsjail.Violation{Syscall: "ptrace", Number: 101, Arch: "x86_64", Count: 2}, Error: "e"},
		{Kind: LogGap, Note: "n", File: "f", Bytes: 9, Digest: "g", Missed: 4, Runs: []string{"r1", "r2"}, Key: "k",
			Signature: "s+/="},
		after(&job.Job{ID: "r"}, &nsjail.Result{Usage: usage, Network: &summary}, nil, false),
		{Kind: RunEnd, Denials: []Denial{{Layer: "syscall", Name: "mount", Count: 2}, {Layer: "exec", Count: 1}}},
	} {
		line := must.Get(e.encode())(t)
		got = append(append(got, line...), '\n')
	}
	if !bytes.Equal(got, golden) {
		t.Errorf("got  %s\nwant %s", got, golden)
	}
}

// Whatever is in an event, its line is short, printable, and read as it was written.
func TestEncodeAnything(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	d := dice{rand.New(rand.NewPCG(seed, 0))}
	for range 300 {
		var e, back Event
		d.fill(reflect.ValueOf(&e).Elem())
		line, err := e.encode()
		if err != nil {
			if !strings.Contains(err.Error(), "a line may have") {
				t.Errorf("seed %d: %v", seed, err)
			}
			continue
		}
		if len(line) > MaxLine-1026 || bytes.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Fatalf("seed %d: %s", seed, line)
		}
		if err := json.Unmarshal([]byte("{"+string(line)+"}"), &back); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if bytes.Contains(line, []byte("[+")) || bytes.Contains(line, []byte(`\ufffd`)) {
			continue // it was cut, or names of a Network were not UTF-8
		}
		if again, err := back.encode(); err != nil || !bytes.Equal(again, line) {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, line, again)
		}
	}
}

// Hosts beyond the bound are counted together, and two names that are the same once secrets are out of them are one.
func TestCounts(t *testing.T) {
	in := map[string]int{"a-secret": 1, "b": 2}
	for i := range 2 * hostsKept {
		in["c"+strings.Repeat("x", i)] = 1
	}
	got := counts(in, func(s string) string { return strings.Replace(s, "a-secret", "b", 1) })
	if got["b"] != 3 || got["other"] != hostsKept+2 || len(got) != hostsKept {
		t.Errorf("%d names, b %d, other %d", len(got), got["b"], got["other"])
	}
}

// dice fill values of any type: every field that a type has, or gets.
type dice struct{ *rand.Rand }

func (d dice) text() string {
	parts := []string{"a", "run-1", "\"", "\\", "\n\r\t\b\f", "\x00\x1f", "\x7f", "<&>", "é", "\u0085", "\u2028\u2029",
		"\u202e", "\ufffd",
		"\xff", "\xe2\x80", "\U000e0041", "\U0001f600", "/", "[+1]", "日本", strings.Repeat("x", 300), strings.Repeat("ü", 700)}
	var b strings.Builder
	for range d.IntN(7) {
		b.WriteString(parts[d.IntN(len(parts)-d.IntN(3))])
	}
	return b.String()
}

func (d dice) fill(v reflect.Value) {
	switch {
	case d.IntN(4) == 0 || !v.CanSet():
		return // stays zero
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"wall_ms":1.50,"<b>":"\u202e` + "\u202e\u0085" + `\/","list":[]}`))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(d.text())
	case reflect.Int, reflect.Int64:
		v.SetInt([]int64{0, -1, 1, 999, 1000, 1001500, 123456789, -1500000, 1<<63 - 1, -1 << 63, d.Int64(),
			d.Int64N(1e12)}[d.IntN(12)])
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			d.fill(v.Field(i))
		}
	case reflect.Slice:
		n := []int{0, 1, 3, 32, 33, 40, 1100}[d.IntN(7)]
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			d.fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range []int{0, 1, 3, 80}[d.IntN(4)] {
			key, n := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			d.fill(key)
			n.SetInt(d.Int64N(1000))
			v.SetMapIndex(key, n)
		}
	default:
		panic(v.Type())
	}
}
