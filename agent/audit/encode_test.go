package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"brig/netns/egress"
	"brig/nsjail"
)

// The encoder as package encoding/json would have it: what the one by hand has to be the same as.

func (e Event) byReflection(t *testing.T) []byte {
	t.Helper()
	for _, s := range []*string{&e.Kind, &e.Run, &e.Agent, &e.Token, &e.Sandbox, &e.Language, &e.CodeDigest, &e.ArgvDigest, &e.SpecDigest,
		&e.PlanDigest, &e.Status, &e.Signal, &e.File, &e.Digest, &e.Key, &e.Signature} {
		*s = clean(*s, maxName)
	}
	e.Source = clean(e.Source, maxName)
	e.Path, e.Error, e.Note = clean(e.Path, maxText), clean(e.Error, maxText), clean(e.Note, maxText)
	e.LimitsHit, e.Runs = cleanAll(e.LimitsHit, maxName), cleanAll(e.Runs, maxName)
	if v := e.Verdict; v != nil {
		e.Verdict = &Verdict{Allowed: v.Allowed, Policies: cleanAll(v.Policies, maxName), Narrowed: cleanAll(v.Narrowed, maxText),
			Layer: clean(v.Layer, maxName), Code: clean(v.Code, maxName), Rule: clean(v.Rule, maxText), Error: clean(v.Error, maxText)}
	}
	left, argv := maxArgv, e.Argv
	e.Argv = nil
	for i, a := range argv {
		if left <= 0 || i == 1024 {
			e.Argv = append(e.Argv, fmt.Sprintf("[+%d]", len(argv)-i))
			break
		}
		a = clean(a, left)
		e.Argv, left = append(e.Argv, a), left-len(a)
	}
	out := marshal(t, &e)
	return out[1 : len(out)-1]
}

func cleanAll(list []string, size int) (out []string) {
	for i, s := range list {
		if i == maxList {
			return append(out, fmt.Sprintf("[+%d]", len(list)-i))
		}
		out = append(out, clean(s, size))
	}
	return out
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	var out []byte
	for _, r := range string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))) {
		switch {
		case r != 0x7f && (r < utf8.RuneSelf || unicode.IsPrint(r)):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

func countsOf[K ~string](in map[K]int) map[string]int {
	out := map[string]int{}
	keys := slices.Sorted(maps.Keys(in))
	for _, k := range keys[:min(len(keys), hostsKept)] {
		out[clean(string(k), maxName)] += in[k]
	}
	for _, k := range keys[min(len(keys), hostsKept):] {
		out["other"] += in[k]
	}
	return out
}

// dice fill values of any type: every field that a type has, or gets.
type dice struct{ *rand.Rand }

func (d dice) text() string {
	parts := []string{"a", "run-1", "\"", "\\", "\n\r\t\b\f", "\x00\x1f", "\x7f", "<&>", "é", "\u0085", "\u2028\u2029", "\u202e", "\ufffd",
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
		v.SetBytes([]byte(`{"wall_ms": 1.50, "<b>": "\u202e` + "\u202e\u0085" + `\/", "list":[ ]}`))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(d.text())
	case reflect.Int, reflect.Int64:
		v.SetInt([]int64{0, -1, 1, 999, 1000, 1001500, 123456789, -1500000, 1<<63 - 1, -1 << 63, d.Int64(), d.Int64N(1e12)}[d.IntN(12)])
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

func TestEncoderWritesWhatReflectionDoes(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	d := dice{rand.New(rand.NewPCG(seed, 0))}
	compare := func(got *Event, want Event) {
		t.Helper()
		text, err := got.appendTo(nil)
		if len(want.byReflection(t)) > MaxLine-1026 {
			if err == nil {
				t.Errorf("seed %d: %d bytes were written", seed, len(text))
			}
			return
		}
		if wanted := want.byReflection(t); err != nil || !bytes.Equal(text, wanted) {
			t.Fatalf("seed %d: %v\ngot  %s\nwant %s", seed, err, text, wanted)
		}
	}
	for range 300 {
		var e Event
		d.fill(reflect.ValueOf(&e).Elem())
		compare(&e, e)

		var u nsjail.Usage
		d.fill(reflect.ValueOf(&u).Elem())
		compare(&Event{Kind: RunEnd, used: &u, Error: "x"}, Event{Kind: RunEnd, Usage: marshal(t, &u), Error: "x"})

		var s egress.Summary
		for _, f := range []any{&s.ByVerdict, &s.ByReason, &s.ByHost, &s.Total, &s.Sent, &s.Received, &s.Unrecorded} {
			d.fill(reflect.ValueOf(f).Elem())
		}
		n := &Network{Total: s.Total, ByVerdict: countsOf(s.ByVerdict), ByReason: countsOf(s.ByReason), ByHost: countsOf(s.ByHost),
			Sent: s.Sent, Received: s.Received, Unrecorded: s.Unrecorded}
		compare(&Event{Kind: RunEnd, reached: network(&nsjail.Result{Network: &s}, nil)}, Event{Kind: RunEnd, Network: n})
	}
}

func TestMillisAreTheSame(t *testing.T) {
	for _, µs := range []int64{0, 1, 9, 10, 99, 100, 120, 999, 1000, 1001, 10010, 999999999999999, 1e15, 1e15 + 1, 9e15 + 7, -1, -999, -1000} {
		m := nsjail.Millis(time.Duration(µs) * 1000)
		want, err := m.MarshalJSON()
		w := writer{}
		w.millis("n", m)
		if err != nil || string(w.out) != `"n":`+string(want) {
			t.Errorf("%s, want %s", w.out, want)
		}
	}
}
