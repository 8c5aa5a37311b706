package report

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"unicode/utf8"

	"brig/cmd/brig/internal/console"
	"brig/internal/text"
	"brig/internal/words"
)

// jsonPiece is how much of a stream is encoded at a time, in bytes: a NUL takes six.
const jsonPiece = 64 << 10

// Answer is the output of --json: the Result and the payload's output.
type Answer struct {
	*Report
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
	// Encoding is "base64", for both streams, if one of them is not UTF-8.
	Encoding string `json:"encoding,omitempty"`
}

// NewAnswer inserts a line at the gap in each stream that was truncated. The bytes that the line displaces count as
// dropped.
func NewAnswer(r *Report, limit int64, stdout, stderr []byte) *Answer {
	o := &r.Output
	out, errs := text.CaptureOf(limit, stdout, o.StdoutBytes), text.CaptureOf(limit, stderr, o.StderrBytes)
	o.StdoutDropped, o.StderrDropped = out.Dropped(), errs.Dropped()
	a := &Answer{Report: r, Stdout: out.String(), Stderr: errs.String()}
	if !utf8.ValidString(a.Stdout) || !utf8.ValidString(a.Stderr) {
		a.Encoding = "base64"
		a.Stdout, a.Stderr = encode(a.Stdout), encode(a.Stderr)
	}
	return a
}

// write is writeJSON of an answer. The streams, which may have many MiB, are encoded while they are written.
func (a *Answer) write(w io.Writer) error {
	short := *a
	short.Stdout, short.Stderr = "", ""
	var b bytes.Buffer
	if err := console.WriteJSON(&b, &short); err != nil {
		return err
	}
	// No string of JSON has a line feed, and no other key of the report begins after one and two spaces as these do.
	const stdout, stderr = "\n  \"stdout\": \"", "\",\n  \"stderr\": \""
	before, after, _ := bytes.Cut(b.Bytes(), []byte(stdout+stderr))
	out := bufio.NewWriterSize(w, jsonPiece)
	_, _ = out.Write(before) // Flush returns the error
	_, _ = out.WriteString(stdout)
	if err := writeString(out, a.Stdout); err != nil {
		return err
	}
	_, _ = out.WriteString(stderr)
	if err := writeString(out, a.Stderr); err != nil {
		return err
	}
	_, _ = out.Write(after)
	return out.Flush()
}

// writeString writes valid UTF-8 as the inside of a string of JSON.
func writeString(w io.Writer, s string) error {
	for len(s) > 0 {
		piece := s[:min(len(s), jsonPiece)]
		if len(piece) < len(s) {
			piece = piece[:len(piece)-text.Incomplete([]byte(piece))]
		}
		b, err := json.Marshal(piece)
		if err == nil {
			_, err = io.WriteString(w, words.JSON(string(b[1:len(b)-1])))
		}
		if err != nil {
			return err
		}
		s = s[len(piece):]
	}
	return nil
}

func encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
