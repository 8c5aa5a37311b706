package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// encode returns an event's fields in JSON without the surrounding braces, truncated and escaped. The text has
// printable characters only, so that it cannot affect a terminal or a program that reads lines.
func (e Event) encode() ([]byte, error) {
	for _, s := range []*string{&e.Kind, &e.Run, &e.Agent, &e.Token, &e.Sandbox, &e.Language, &e.CodeDigest, &e.ArgvDigest,
		&e.SpecDigest, &e.PlanDigest, &e.Source, &e.Status, &e.Signal, &e.File, &e.Digest, &e.Key, &e.Signature} {
		*s = clean(*s, maxName)
	}
	e.Path, e.Error, e.Note = clean(e.Path, maxText), clean(e.Error, maxText), clean(e.Note, maxText)
	e.LimitsHit, e.Runs = cleanAll(e.LimitsHit, maxName), cleanAll(e.Runs, maxName)
	if v := e.Verdict; v != nil {
		e.Verdict = &Verdict{Allowed: v.Allowed, Policies: cleanAll(v.Policies, maxName),
			Narrowed: cleanAll(v.Narrowed, maxText),
			Layer:    clean(v.Layer, maxName), Code: clean(v.Code, maxName), Rule: clean(v.Rule, maxText),
			Error: clean(v.Error, maxText)}
	}
	e.Argv = cleanArgv(e.Argv)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(&e); err != nil {
		return nil, fmt.Errorf("an event as JSON: %w", err)
	}
	fields := printable(b.Bytes()[1 : b.Len()-2]) // without the newline
	if len(fields) > MaxLine-1026 {               // room for seq, time, prev and sha256
		return nil, fmt.Errorf("an event of %d bytes; a line may have %d", len(fields), MaxLine)
	}
	return fields, nil
}

// cleanAll cleans the first maxList texts of a list, and appends the number of the others.
func cleanAll(list []string, size int) (out []string) {
	for i, s := range list {
		if i == maxList {
			return append(out, fmt.Sprintf("[+%d]", len(list)-i))
		}
		out = append(out, clean(s, size))
	}
	return out
}

// cleanArgv limits the total size of the arguments.
func cleanArgv(argv []string) (out []string) {
	left := maxArgv
	for i, a := range argv {
		if left <= 0 || i == 1024 {
			return append(out, fmt.Sprintf("[+%d]", len(argv)-i))
		}
		a = clean(a, left)
		out, left = append(out, a), left-len(a)
	}
	return out
}

// printable escapes as \uNNNN the characters that package encoding/json leaves and that are not printable: control
// characters, characters that change the text direction, and invisible ones. In JSON, such characters occur only in
// strings.
func printable(text []byte) []byte {
	if !bytes.ContainsFunc(text, func(r rune) bool { return r >= 0x7f }) {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	for _, r := range string(text) {
		switch {
		case r < 0x7f || r > 0x7f && unicode.IsPrint(r):
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

// clean truncates a text to size bytes, and replaces invalid UTF-8 bytes by \xNN, since JSON cannot represent them.
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
