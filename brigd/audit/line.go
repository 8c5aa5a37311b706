package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Line is an event with its place in the chain.
type Line struct {
	// Seq counts from 1 across all files of a log.
	Seq uint64 `json:"seq"`
	// Time is the time of the writer's clock.
	Time time.Time `json:"time"`
	// Prev is the Hash of the previous line. In the first line of a log it is 64 zeros.
	Prev string `json:"prev"`
	Event
	// Hash is the SHA-256, in hexadecimal, of the line's bytes before `,"sha256":`.
	Hash string `json:"sha256"`
	// Raw is the line in the file without its newline. The buffer is reused: copy it to keep it.
	Raw []byte `json:"-"`
}

// origin is the Prev of the first line of a log.
var origin = strings.Repeat("0", 64)

const (
	hashField = `,"sha256":"`
	tailSize  = len(hashField) + 64 + len(`"}`)
)

// head returns the beginning of a line, before its event's fields.
func head(seq uint64, at time.Time, prev string) []byte {
	return fmt.Appendf(nil, `{"seq":%d,"time":"%s","prev":"%s",`, seq, at.Format(time.RFC3339Nano), prev)
}

// build returns a line with its newline, and its hash.
func build(seq uint64, at time.Time, prev string, fields []byte) (line []byte, hash string) {
	line = append(head(seq, at.UTC(), prev), fields...)
	hash = digest(line)
	return append(line, hashField+hash+"\"}\n"...), hash
}

// parseLine parses a line without its newline, and checks its format and its hash. It does not check its place in the
// chain.
func parseLine(data []byte) (*Line, error) {
	if len(data) > MaxLine {
		return nil, fmt.Errorf("it is longer than %d bytes", MaxLine)
	}
	if len(data) < tailSize || !bytes.HasPrefix(data[len(data)-tailSize:], []byte(hashField)) {
		return nil, errors.New("it does not end with its hash")
	}
	sum := sha256.Sum256(data[:len(data)-tailSize])
	if hash := hex.EncodeToString(sum[:]); string(data[len(data)-tailSize+len(hashField):]) != hash+`"}` {
		return nil, errors.New("it was altered: its hash does not fit")
	}
	var l Line
	if err := json.Unmarshal(data, &l); err != nil {
		return nil, fmt.Errorf("it is not an event: %w", err)
	}
	if !bytes.HasPrefix(data, head(l.Seq, l.Time, l.Prev)) || l.Time.Location() != time.UTC || len(l.Prev) != 64 ||
		l.Kind == "" {
		return nil, errors.New("it does not begin with its number, its time and the hash of the line before")
	}
	l.Raw = data
	return &l, nil
}

// follows returns an error if the line cannot follow the one with the given number and hash.
func (l *Line) follows(seq uint64, hash string) error {
	switch {
	case l.Seq > seq+1:
		return fmt.Errorf("it is number %d and follows number %d: %d lines are missing", l.Seq, seq, l.Seq-seq-1)
	case l.Seq != seq+1:
		return fmt.Errorf("it is number %d and follows number %d: lines were inserted, doubled or moved", l.Seq, seq)
	case l.Prev != hash:
		return errors.New("it does not name the line before it: that one, or this one, was replaced")
	}
	return nil
}
