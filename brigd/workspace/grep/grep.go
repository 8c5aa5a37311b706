// Package grep finds the lines of a text that a regular expression matches, within bounds that hold for any text and
// any expression.
package grep

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"
)

const (
	maxPattern = 1000 // bytes of an expression
	maxProgram = 2000 // instructions of a compiled one: the time for each byte of a line grows with them
	// MaxLine is the number of bytes of a line that are searched.
	MaxLine  = 64 << 10
	maxShown = 500 // bytes of a line that a Match has
	before   = 100 // of these, at most so many stand before the match
	often    = 4 << 10
)

// Compile compiles an expression of the syntax of Go's package regexp (RE2).
func Compile(text string, ignoreCase bool) (*regexp.Regexp, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("it has more than %d bytes", maxPattern)
	}
	if ignoreCase {
		text = "(?i)" + text
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(tree.Simplify())
	if err == nil && len(program.Inst) > maxProgram {
		err = errors.New("it is too large: repeat less in it")
	}
	if err != nil {
		return nil, err
	}
	return regexp.Compile(text)
}

// Match is a line that matches.
type Match struct {
	Line   int    // its number, from 1
	Column int    // the byte where the first match in it begins, from 1
	Text   string // the line, or the part of a long one that is around the match
	Cut    bool   // Text is a part
}

// Stats is what a search has met.
type Stats struct {
	Bytes  int64 // that were read
	Binary bool  // a NUL byte, where the search has ended
	Long   bool  // a line longer than MaxLine, of which the rest was not searched
}

// Searcher searches texts, one after the other.
type Searcher struct {
	Pattern *regexp.Regexp
	// Go is asked again and again, and ends the search by returning false.
	Go func() bool

	buf []byte
}

// Search calls found for each line that matches, until it returns false. The text ends at its first NUL byte.
func (s *Searcher) Search(r io.Reader, found func(Match) bool) (st Stats, err error) {
	if s.buf == nil {
		s.buf = make([]byte, MaxLine)
	}
	have, line, since, skip := 0, 1, 0, false
	for {
		n, rerr := io.ReadFull(r, s.buf[have:])
		st.Bytes += int64(n)
		text := s.buf[:have+n]
		if st.Binary = bytes.IndexByte(text, 0) >= 0; st.Binary || !s.Go() {
			return st, nil
		}
		last := rerr == io.EOF || rerr == io.ErrUnexpectedEOF
		if rerr != nil && !last {
			return st, rerr
		}
		for len(text) > 0 {
			row, rest, ended := bytes.Cut(text, []byte{'\n'})
			if !ended && !last && len(row) < len(s.buf) {
				break // its rest is still to be read
			}
			if !skip && !s.row(row, line, found) {
				return st, nil
			}
			if since += len(row); since >= often {
				if since = 0; !s.Go() {
					return st, nil
				}
			}
			if skip = !ended && !last; skip {
				st.Long = true
			} else {
				line++
			}
			text = rest
		}
		if last {
			return st, nil
		}
		have = copy(s.buf, text)
	}
}

// row searches one line.
func (s *Searcher) row(row []byte, line int, found func(Match) bool) bool {
	row = bytes.TrimSuffix(row, []byte{'\r'})
	at := s.Pattern.FindIndex(row)
	if at == nil {
		return true
	}
	m := Match{Line: line, Column: at[0] + 1, Text: string(row)}
	if len(row) > maxShown {
		from := max(0, min(at[0]-before, len(row)-maxShown))
		part := row[from : from+maxShown]
		for i := 0; i < utf8.UTFMax && len(part) > 0 && !utf8.RuneStart(part[0]); i++ {
			part = part[1:] // the rest of a character
		}
		m.Text, m.Cut = string(part), true
	}
	return found(m)
}
