package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"brig/nsjail"
)

// The kinds of events. Those that begin with "log." are the log's own; a caller of Append may use any other word of
// small letters, dots and underscores.
const (
	RunStart   = "run.start"   // before a run; it may run only once this is written
	RunEnd     = "run.end"     // after it
	RunRefused = "run.refused" // instead of both: somebody has said no

	LogOpen       = "log.open"       // a writer has begun
	LogClose      = "log.close"      // and ended in good order
	LogRecovered  = "log.recovered"  // the writer before was killed in the middle of a line, which has been set aside
	LogGap        = "log.gap"        // for a while nothing could be written
	LogRotated    = "log.rotated"    // the first line of the next file
	LogCheckpoint = "log.checkpoint" // a signature of all up to here
)

// Event is what one line says, but for its place in the chain. Fields that do not apply are left out.
type Event struct {
	Kind string `json:"event"`
	// Run, Agent, Token, Sandbox and Language are the Job's.
	Run      string `json:"run,omitempty"`
	Agent    string `json:"agent,omitempty"`
	Token    string `json:"token,omitempty"`
	Sandbox  string `json:"sandbox,omitempty"`
	Language string `json:"language,omitempty"`
	// The digests are SHA-256 in hexadecimal: of Job.Code; of the arguments, each followed by a zero byte; of the Spec (see
	// nsjail.Spec.Digest), as it was when the event was made; of the programs that were performed (Job.PlanDigest).
	CodeDigest string `json:"code_sha256,omitempty"`
	CodeBytes  int    `json:"code_bytes,omitempty"`
	ArgvDigest string `json:"argv_sha256,omitempty"`
	Argc       int    `json:"argc,omitempty"`
	SpecDigest string `json:"spec_sha256,omitempty"`
	PlanDigest string `json:"plan_sha256,omitempty"`
	// Argv is there only if Options.Argv says so.
	Argv    []string `json:"argv,omitempty"`
	Verdict *Verdict `json:"verdict,omitempty"`
	// From here on what a run.end says: see nsjail.Result.
	Status    string            `json:"status,omitempty"`
	ExitCode  *int              `json:"exit_code,omitempty"`
	Signal    string            `json:"signal,omitempty"`
	TimedOut  bool              `json:"timed_out,omitempty"`
	LimitsHit []string          `json:"limits_hit,omitempty"`
	Output    *nsjail.Output    `json:"output,omitempty"`
	Usage     json.RawMessage   `json:"usage,omitempty"` // a nsjail.Usage
	Network   *Network          `json:"network,omitempty"`
	Violation *nsjail.Violation `json:"violation,omitempty"`
	Error     string            `json:"error,omitempty"`
	// Note is a sentence; of the log's own events, or of Append's caller.
	Note string `json:"note,omitempty"`
	// File is the name of the file that was rotated away or took what was torn; Bytes and Digest are of the latter.
	File   string `json:"file,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"`
	Digest string `json:"digest_sha256,omitempty"`
	// Missed counts the events that could not be written, and Runs are the first of the runs that they were about.
	Missed int64    `json:"missed,omitempty"`
	Runs   []string `json:"runs,omitempty"`
	// Key is the id of the key that has signed a checkpoint, and Signature the ed25519 signature in base64.
	Key       string `json:"key,omitempty"`
	Signature string `json:"signature,omitempty"`
}

// Verdict is what was decided about a run: see nsjail.Verdict.
type Verdict struct {
	Allowed  bool     `json:"allowed"`
	Policies []string `json:"policies,omitempty"`
	Narrowed []string `json:"narrowed,omitempty"`
	// Layer, Code, Rule and Error are the Refusal's.
	Layer string `json:"layer,omitempty"`
	Code  string `json:"code,omitempty"`
	Rule  string `json:"rule,omitempty"`
	Error string `json:"error,omitempty"`
}

// Network sums up what a run has reached and tried to reach: see nsjail.Result.Network.
type Network struct {
	Total      int            `json:"total"`
	ByVerdict  map[string]int `json:"by_verdict,omitempty"`
	ByReason   map[string]int `json:"by_reason,omitempty"`
	ByHost     map[string]int `json:"by_host,omitempty"` // the first hostsKept in alphabetical order
	Sent       int64          `json:"sent"`              // bytes out of the jail
	Received   int64          `json:"received"`
	Unrecorded int            `json:"unrecorded,omitempty"`
}

// Bounds of what comes from outside, in bytes before it is escaped; what is longer is cut and says so.
const (
	maxName   = 256
	maxText   = 1024
	maxList   = 32
	maxArgv   = 8 << 10
	hostsKept = 64
	// MaxLine bounds a line, in bytes.
	MaxLine = 256 << 10
)

// bound cuts what is too long and makes every text valid UTF-8.
func (e *Event) bound() {
	for _, s := range []*string{&e.Kind, &e.Run, &e.Agent, &e.Token, &e.Sandbox, &e.Language, &e.CodeDigest, &e.ArgvDigest, &e.SpecDigest,
		&e.PlanDigest, &e.Status, &e.Signal, &e.File, &e.Digest, &e.Key, &e.Signature} {
		*s = clean(*s, maxName)
	}
	e.Error, e.Note = clean(e.Error, maxText), clean(e.Note, maxText)
	e.LimitsHit, e.Runs = cleanAll(e.LimitsHit, maxName, maxList), cleanAll(e.Runs, maxName, maxList)
	if v := e.Verdict; v != nil {
		e.Verdict = &Verdict{Allowed: v.Allowed, Policies: cleanAll(v.Policies, maxName, maxList), Narrowed: cleanAll(v.Narrowed, maxText, maxList),
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
}

func cleanAll(list []string, size, count int) (out []string) {
	for i, s := range list {
		if i == count {
			return append(out, fmt.Sprintf("[+%d]", len(list)-i))
		}
		out = append(out, clean(s, size))
	}
	return out
}

// clean cuts a text to so many bytes, and writes bytes that are not UTF-8 as \xNN: JSON cannot carry them.
func clean(s string, size int) string {
	if len(s) <= size && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		if b.Len() >= size {
			fmt.Fprintf(&b, "[+%d bytes]", len(s)-i)
			break
		}
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd") {
			fmt.Fprintf(&b, `\x%02x`, s[i])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// encode gives an event's fields without the braces around them, bounded and escaped: nothing in it but printable
// characters, so that no terminal and no reader of lines is led astray.
func (e Event) encode() ([]byte, error) {
	e.bound()
	out, err := marshal(&e)
	if err != nil {
		return nil, err
	}
	if len(out) > MaxLine-1024 { // room for its place in the chain
		return nil, fmt.Errorf("an event of %d bytes; a line may have %d", len(out), MaxLine)
	}
	return out[1 : len(out)-1], nil
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("an event as JSON: %w", err)
	}
	return escape(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// escape writes every character of a JSON text that is not printable as \uNNNN: control characters of both ranges,
// what turns the direction of writing, line separators, invisible ones. Outside strings JSON has none of them.
func escape(data []byte) []byte {
	first := slices.IndexFunc(data, func(c byte) bool { return c >= 0x7f })
	if first < 0 {
		return data
	}
	plain := func(r rune) bool { return r != 0x7f && (r < utf8.RuneSelf || unicode.IsPrint(r)) }
	out := append(make([]byte, 0, len(data)+64), data[:first]...)
	data = data[first:]
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		switch {
		case plain(r):
			out = append(out, data[:n]...)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		data = data[n:]
	}
	return out
}
