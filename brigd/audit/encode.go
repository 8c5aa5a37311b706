package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"brig/internal/words"
)

// encode returns an event's fields in JSON without the surrounding braces, truncated and escaped. The text has
// printable characters only, so that it cannot affect a terminal or a program that reads lines.
func (e Event) encode() ([]byte, error) {
	for _, s := range []*string{&e.Kind, &e.Run, &e.Agent, &e.Token, &e.Sandbox, &e.Language, &e.CodeDigest, &e.ArgvDigest,
		&e.SpecDigest, &e.PlanDigest, &e.Source, &e.Status, &e.Signal, &e.File, &e.Digest, &e.Key, &e.Signature} {
		*s = words.UTF8(*s, maxName)
	}
	for _, s := range []*string{&e.Path, &e.To, &e.Error, &e.Note} {
		*s = words.UTF8(*s, maxText)
	}
	e.LimitsHit, e.Runs = cleanAll(e.LimitsHit, maxName), cleanAll(e.Runs, maxName)
	if v := e.Verdict; v != nil {
		e.Verdict = &Verdict{Allowed: v.Allowed, Policies: cleanAll(v.Policies, maxName),
			Narrowed: cleanAll(v.Narrowed, maxText),
			Layer:    words.UTF8(v.Layer, maxName), Code: words.UTF8(v.Code, maxName), Rule: words.UTF8(v.Rule, maxText),
			Error: words.UTF8(v.Error, maxText)}
	}
	e.Image = words.UTF8(e.Image, maxText)
	e.Shares = slices.Clone(e.Shares)
	for i := range e.Shares {
		s := &e.Shares[i]
		s.Name, s.Source, s.Target = words.UTF8(s.Name, maxName), words.UTF8(s.Source, maxText), words.UTF8(s.Target, maxText)
	}
	e.Denials = slices.Clone(e.Denials[:min(len(e.Denials), maxDenials)])
	for i := range e.Denials {
		d := &e.Denials[i]
		d.Layer, d.Name = words.UTF8(d.Layer, maxName), words.UTF8(d.Name, maxName)
	}
	e.Argv = cleanArgv(e.Argv)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(&e); err != nil {
		return nil, fmt.Errorf("an event as JSON: %w", err)
	}
	// Package encoding/json leaves characters that are not printable: some control characters, those that change the text
	// direction, and invisible ones. In JSON, they occur only in strings.
	fields := words.JSON(string(b.Bytes()[1 : b.Len()-2])) // without the newline
	if len(fields) > MaxLine-1026 {                        // room for seq, time, prev and sha256
		return nil, fmt.Errorf("an event of %d bytes; a line may have %d", len(fields), MaxLine)
	}
	return []byte(fields), nil
}

// cleanAll cleans the first maxList texts of a list, and appends the number of the others.
func cleanAll(list []string, size int) (out []string) {
	for i, s := range list {
		if i == maxList {
			return append(out, fmt.Sprintf("[+%d]", len(list)-i))
		}
		out = append(out, words.UTF8(s, size))
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
		a = words.UTF8(a, left)
		out, left = append(out, a), left-len(a)
	}
	return out
}
