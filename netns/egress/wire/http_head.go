package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
)

// MaxHead is the maximum size of a head for ParseRequest and ParseResponse, in bytes.
const MaxHead = 64 << 10

const (
	maxFields = 256
	maxDigits = 15 // of a Content-Length or a chunk's size: far from overflow
)

// ReadHead reads a head up to and including its empty line, at most max bytes. It returns io.EOF if no byte arrived. It
// returns an *Error at the first byte that no head has there (a control byte, LF without CR, CR without LF, a first
// byte that begins no word, a first line without "HTTP/"), so that a client of another protocol does not wait. Other
// errors are the reader's.
func ReadHead(r *bufio.Reader, max int) ([]byte, error) {
	head := make([]byte, 0, min(max, 512))
	last := byte('\n') // the first line must not be empty
	spoken := false    // the first line was one of HTTP
	for len(head) < max {
		c, err := r.ReadByte()
		if err != nil {
			if errors.Is(err, io.EOF) && len(head) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if len(head) == 0 && !tokenByte(c) {
			return nil, refuse(NotHTTP, "byte %#02x begins no HTTP head", c)
		}
		if err := headByte(last, c); err != nil {
			return nil, err
		}
		if head, last = append(head, c), c; c == '\n' && !spoken {
			if spoken = bytes.Contains(head, []byte("HTTP/")); !spoken {
				return nil, refuse(NotHTTP, "the first line is none of HTTP/1")
			}
		}
		if n := len(head); c == '\n' && head[n-3] == '\n' { // a first line has at least three bytes
			return head, nil
		}
	}
	return nil, refuse(Protocol, "a head of more than %d bytes", max)
}

// headByte returns an error unless c may follow last in a head. Non-ASCII bytes are allowed in values only: see fields.
func headByte(last, c byte) error {
	switch {
	case (last == '\r') != (c == '\n'):
		return refuse(Protocol, "CR and LF not together in a head")
	case c < ' ' && c != '\t' && c != '\r' && c != '\n', c == 0x7f:
		return refuse(Protocol, "control byte %#02x in a head", c)
	}
	return nil
}

// field is one header field: key is the name in lower case.
type field struct{ key, name, value string }

// header is a parsed head: the first line, the fields forwarded unchanged, and the values of the others.
type header struct {
	first    string
	fields   []field
	host     []string
	length   []string
	encoding []string
	options  []string // the words of Connection, in lower case
	upgrade  []string
	expect   []string
	override string
}

// split splits a head into lines and sorts the fields. It makes all checks that requests and responses have in common.
func split(head []byte) (*header, error) {
	if len(head) > MaxHead {
		return nil, refuse(Protocol, "a head of more than %d bytes", MaxHead)
	}
	text, whole := bytes.CutSuffix(head, []byte("\r\n\r\n"))
	if !whole || bytes.Contains(text, []byte("\r\n\r\n")) {
		return nil, refuse(Protocol, "not one whole head")
	}
	last := byte(0)
	for _, c := range head {
		if err := headByte(last, c); err != nil {
			return nil, err
		}
		last = c
	}
	lines := strings.Split(string(text), "\r\n")
	if len(lines)-1 > maxFields {
		return nil, refuse(Protocol, "more than %d header fields", maxFields)
	}
	h := &header{first: lines[0], fields: make([]field, 0, len(lines))}
	for _, line := range lines[1:] {
		name, value, ok := strings.Cut(line, ":")
		if !ok || !token(name) { // this also refuses a space before the colon and a folded line
			return nil, refuse(Protocol, "a malformed header field")
		}
		if err := h.add(field{strings.ToLower(name), name, strings.Trim(value, " \t")}); err != nil {
			return nil, err
		}
	}
	return h, h.nominated()
}

// add sorts one field.
func (h *header) add(f field) error {
	plain := strings.ReplaceAll(f.key, "_", "-") // CGI and similar interfaces do not distinguish them
	switch plain {
	case "host", "content-length", "transfer-encoding", "connection", "upgrade", "expect":
		if plain != f.key {
			return refuse(Protocol, "a framing field's name with '_'")
		}
	case "x-http-method", "x-http-method-override", "x-method-override", "x-original-method", "x-original-url",
		"x-original-uri", "x-rewrite-url",
		"x-rewrite-uri":
		if h.override == "" {
			h.override = f.name
		}
	}
	switch f.key {
	case "host":
		h.host = append(h.host, f.value)
	case "content-length":
		h.length = append(h.length, f.value)
	case "transfer-encoding":
		h.encoding = append(h.encoding, f.value)
	case "upgrade":
		h.upgrade = append(h.upgrade, f.value)
	case "expect":
		h.expect = append(h.expect, f.value)
	case "connection":
		for _, o := range strings.Split(f.value, ",") {
			if o = strings.ToLower(strings.Trim(o, " \t")); o != "" {
				h.options = append(h.options, o)
			}
		}
	case "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization", "te", "trailer",
		"http2-settings":
		// hop by hop; CopyBody drops trailers
	default:
		h.fields = append(h.fields, f)
	}
	return nil
}

// nominated removes the fields that Connection names. It must not name those that determine the message's destination
// and end.
func (h *header) nominated() error {
	for _, o := range h.options {
		if !token(o) {
			return refuse(Protocol, "a malformed Connection field")
		}
		switch strings.ReplaceAll(o, "_", "-") {
		case "host", "content-length", "transfer-encoding", "connection", "expect", "content-type", "content-encoding",
			"authorization", "cookie":
			return refuse(Protocol, "Connection names an end-to-end field")
		}
	}
	if len(h.options) > 16 {
		return refuse(Protocol, "more than 16 words in Connection")
	}
	kept := h.fields[:0]
	for _, f := range h.fields {
		if !h.option(f.key) {
			kept = append(kept, f)
		}
	}
	h.fields = kept
	return nil
}

func (h *header) option(word string) bool {
	for _, o := range h.options {
		if o == word {
			return true
		}
	}
	return false
}

// websocket reports whether the head requests, or accepts, the only upgrade that is allowed.
func (h *header) websocket() bool {
	return h.option("upgrade") && len(h.upgrade) == 1 && strings.EqualFold(h.upgrade[0], "websocket")
}

// framing parses Content-Length and Transfer-Encoding; without either it returns otherwise.
func (h *header) framing(version string, otherwise BodyKind) (f Framing, err error) {
	switch {
	case len(h.length) > 0 && len(h.encoding) > 0:
		return f, refuse(Protocol, "Content-Length and Transfer-Encoding")
	case len(h.length) > 1 || len(h.encoding) > 1:
		return f, refuse(Protocol, "more than one Content-Length or Transfer-Encoding")
	case len(h.encoding) == 1:
		if !strings.EqualFold(h.encoding[0], "chunked") || version != http11 {
			return f, refuse(Protocol, "a Transfer-Encoding that is not chunked, or in HTTP/1.0")
		}
		return Framing{Kind: Chunked}, nil
	case len(h.length) == 1:
		n, ok := decimal(h.length[0])
		if !ok {
			return f, refuse(Protocol, "a malformed Content-Length")
		}
		return Framing{Length, n}, nil
	}
	return Framing{Kind: otherwise}, nil
}

// decimal parses digits only, without a leading zero.
func decimal(s string) (int64, bool) {
	if len(s) == 0 || len(s) > maxDigits || s[0] == '0' && len(s) > 1 {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// tokenByte reports whether c is a tchar of RFC 9110.
func tokenByte(c byte) bool {
	return 'a' <= lower(c) && lower(c) <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

func token(s string) bool {
	for i := range len(s) {
		if !tokenByte(s[i]) {
			return false
		}
	}
	return s != ""
}

// emit writes a head: the first line, the given lines, the fields, the framing.
func (h *header) emit(first string, lines []string, f Framing, tail []string) []byte {
	var b bytes.Buffer
	line := func(parts ...string) {
		for _, p := range parts {
			b.WriteString(p)
		}
		b.WriteString("\r\n")
	}
	line(first)
	for _, l := range lines {
		line(l)
	}
	for _, f := range h.fields {
		line(f.name, ": ", f.value)
	}
	switch f.Kind {
	case Length:
		line("Content-Length: ", strconv.FormatInt(f.Length, 10))
	case Chunked:
		line("Transfer-Encoding: chunked")
	}
	for _, l := range tail {
		line(l)
	}
	line()
	return b.Bytes()
}
