package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits bound what is read; zero fields stand for the defaults in parentheses.
type Limits struct {
	Depth  int // of objects and lists in each other (32)
	Values int // objects, lists, strings, numbers and so on together (100,000)
}

// The defaults of Limits.
const (
	DefaultDepth  = 32
	DefaultValues = 100_000
)

// Error says what is wrong with a JSON text, and where.
type Error struct {
	Code    string // syntax, encoding, too_deep, too_many_values, duplicate_key, unknown_field, wrong_type, invalid_value
	Path    string // of the value, as in files["a b"].base64; "" for the whole
	Message string // what is wrong
	Fix     string // what to do, in the imperative
}

// Error is one sentence.
func (e *Error) Error() string {
	return strings.TrimPrefix(e.Path+": ", ": ") + e.Message + "; " + e.Fix
}

// Scan says whether data is one JSON value in UTF-8 within limits, without a key that is there twice, which readers of
// JSON understand differently, or half of a surrogate pair, which they replace (RFC 8259, sections 4 and 8.2).
func Scan(data []byte, l Limits) error {
	if l.Depth == 0 {
		l.Depth = DefaultDepth
	}
	if l.Values == 0 {
		l.Values = DefaultValues
	}
	if !utf8.Valid(data) {
		return &Error{"encoding", "", "the text is not UTF-8", "write it in UTF-8, and bytes that are no text as base64"}
	}
	s := &scanner{data: data, limits: l}
	if err := s.value(0, ""); err != nil {
		return err
	}
	if s.space(); s.pos < len(data) {
		return s.syntax("there is data after the value")
	}
	return nil
}

// scanner walks a JSON text once. It is not json.Decoder, which accepts repeated keys and half surrogate pairs.
type scanner struct {
	data   []byte
	pos    int
	values int
	limits Limits
}

func (s *scanner) syntax(what string) error {
	before := s.data[:min(s.pos, len(s.data))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return &Error{"syntax", "", fmt.Sprintf("line %d column %d: %s", line, column, what), "write one JSON value (RFC 8259)"}
}

func (s *scanner) space() {
	for s.pos < len(s.data) && strings.IndexByte(" \t\r\n", s.data[s.pos]) >= 0 {
		s.pos++
	}
}

// peek is the next byte that is no white space, 0 at the end.
func (s *scanner) peek() byte {
	if s.space(); s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

func (s *scanner) value(depth int, path string) error {
	if s.values++; s.values > s.limits.Values {
		return &Error{"too_many_values", path, fmt.Sprintf("the JSON has more than %d values", s.limits.Values), "send fewer, in several requests"}
	}
	switch c := s.peek(); c {
	case '{', '[':
		if depth++; depth > s.limits.Depth {
			return &Error{"too_deep", path, fmt.Sprintf("objects and lists are nested more than %d deep", s.limits.Depth), "nest them less"}
		}
		if c == '[' {
			return s.list(depth, path)
		}
		return s.object(depth, path)
	case '"':
		_, err := s.text(path)
		return err
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	case 0:
		return s.syntax("the text ends too early")
	default:
		return s.number()
	}
}

func (s *scanner) word(w string) error {
	if !bytes.HasPrefix(s.data[s.pos:], []byte(w)) {
		return s.syntax("this is no JSON value")
	}
	s.pos += len(w)
	return nil
}

func (s *scanner) number() error {
	at := func(set string) bool { return s.pos < len(s.data) && strings.IndexByte(set, s.data[s.pos]) >= 0 }
	digits := func() error {
		if !at("0123456789") {
			return s.syntax("this is no JSON value")
		}
		for at("0123456789") {
			s.pos++
		}
		return nil
	}
	if at("-") {
		s.pos++
	}
	if at("0") {
		s.pos++
	} else if err := digits(); err != nil {
		return err
	}
	if at(".") {
		s.pos++
		if err := digits(); err != nil {
			return err
		}
	}
	if at("eE") {
		if s.pos++; at("+-") {
			s.pos++
		}
		return digits()
	}
	return nil
}

// text reads a string and gives it as it stands, with its quotes.
func (s *scanner) text(path string) ([]byte, error) {
	start := s.pos
	for s.pos++; s.pos < len(s.data); s.pos++ {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return s.data[start:s.pos], nil
		case c < 0x20:
			return nil, s.syntax("a string has a control character; write it as an escape")
		case c == '\\':
			if err := s.escape(path); err != nil {
				return nil, err
			}
		}
	}
	return nil, s.syntax("a string has no end")
}

// escape reads what follows a backslash, up to its last byte.
func (s *scanner) escape(path string) error {
	if s.pos++; s.pos >= len(s.data) {
		return s.syntax("a string has no end")
	}
	if c := s.data[s.pos]; c != 'u' {
		if strings.IndexByte(`"\/bfnrt`, c) < 0 {
			return s.syntax("this is no escape of JSON")
		}
		return nil
	}
	unit, ok := s.unit(s.pos + 1)
	if !ok {
		return s.syntax("an escape needs four hexadecimal digits")
	}
	s.pos += 4
	if unit < 0xD800 || unit > 0xDFFF {
		return nil
	}
	if next, ok := s.unit(s.pos + 3); unit < 0xDC00 && ok && string(s.data[s.pos+1:s.pos+3]) == `\u` && next >= 0xDC00 && next <= 0xDFFF {
		s.pos += 6
		return nil
	}
	return &Error{"encoding", path, "a string has half of a surrogate pair", "write the character itself"}
}

func (s *scanner) unit(at int) (uint64, bool) {
	if at+4 > len(s.data) {
		return 0, false
	}
	u, err := strconv.ParseUint(string(s.data[at:at+4]), 16, 16)
	return u, err == nil
}

func (s *scanner) list(depth int, path string) error {
	s.pos++
	if s.peek() == ']' {
		s.pos++
		return nil
	}
	for i := 0; ; i++ {
		if err := s.value(depth, path+"["+strconv.Itoa(i)+"]"); err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.pos++
		case ']':
			s.pos++
			return nil
		default:
			return s.syntax("a list needs a comma or its closing bracket here")
		}
	}
}

func (s *scanner) object(depth int, path string) error {
	s.pos++
	seen := map[string]bool{}
	if s.peek() == '}' {
		s.pos++
		return nil
	}
	for {
		key, err := s.key(path)
		if err != nil {
			return err
		}
		here := join(path, key)
		if seen[key] {
			return &Error{"duplicate_key", here, "the key is there twice", "remove one"}
		}
		seen[key] = true
		if err := s.value(depth, here); err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.pos++
		case '}':
			s.pos++
			return nil
		default:
			return s.syntax("an object needs a comma or its closing brace here")
		}
	}
}

// key reads a key and its colon.
func (s *scanner) key(path string) (key string, err error) {
	if s.peek() != '"' {
		return "", s.syntax("an object needs a key in double quotes here")
	}
	raw, err := s.text(path)
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(raw, &key); err != nil {
		return "", s.syntax("this is no JSON string")
	}
	if s.peek() != ':' {
		return "", s.syntax("a key needs a colon after it")
	}
	s.pos++
	return key, nil
}
