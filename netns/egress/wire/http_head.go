package wire

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"brig/netns/egress/policy"
)

const (
	maxHead   = 64 << 10 // bytes
	maxFields = 256
	maxDigits = 15 // of a Content-Length or a chunk's size: far from overflow
)

// readHead reads a head up to and including its empty line, at most max bytes. It makes all checks that requests and
// responses have in common. It returns io.EOF if no byte arrived. It returns an *Error at the first byte that no head
// has there (a control byte, LF without CR, CR without LF, a first byte that begins no word, a first line without
// "HTTP/"), so that a client of another protocol does not wait. Other errors are the reader's.
func readHead(r *bufio.Reader, max int) (*header, error) {
	var lines []string
	line, last := make([]byte, 0, 128), byte('\n') // the first line must not be empty
	for n := range max {
		c, err := r.ReadByte()
		switch {
		case errors.Is(err, io.EOF) && n > 0:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		case n == 0 && !tokenByte(c):
			return nil, refuse(policy.ReasonNotHTTP, "byte %#02x begins no HTTP head", c)
		}
		if err := headByte(last, c); err != nil {
			return nil, err
		}
		if line, last = append(line, c), c; c != '\n' {
			continue
		}
		text := string(line[:len(line)-2])
		switch {
		case len(lines) == 0 && !strings.Contains(text, "HTTP/"):
			return nil, refuse(policy.ReasonNotHTTP, "the first line is none of HTTP/1")
		case text == "":
			return sorted(lines)
		case len(lines) > maxFields:
			return nil, refuse(policy.ReasonProtocol, "more than %d header fields", maxFields)
		}
		lines, line = append(lines, text), line[:0]
	}
	return nil, refuse(policy.ReasonProtocol, "a head of more than %d bytes", max)
}

// headByte returns an error unless c may follow last in a head. Non-ASCII bytes are allowed in values only: see sorted.
func headByte(last, c byte) error {
	switch {
	case (last == '\r') != (c == '\n'):
		return refuse(policy.ReasonProtocol, "CR and LF not together in a head")
	case c < ' ' && c != '\t' && c != '\r' && c != '\n', c == 0x7f:
		return refuse(policy.ReasonProtocol, "control byte %#02x in a head", c)
	}
	return nil
}

// field is one header field: key is the name in lower case.
type field struct{ key, name, value string }

// header is a parsed head: the first line, the fields forwarded unchanged, and what the others say.
type header struct {
	first    string
	fields   []field
	framed   map[string][]string // the values of framingFields
	options  []string            // the words of Connection, in lower case
	override string
}

// Fields that are not forwarded unchanged, or that hide something from the rules.
var (
	framingFields  = []string{"host", "content-length", "transfer-encoding", "connection", "upgrade", "expect"}
	overrideFields = []string{"x-http-method", "x-http-method-override", "x-method-override", "x-original-method",
		"x-original-url", "x-original-uri", "x-rewrite-url", "x-rewrite-uri"}
	hopByHop = []string{"keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization", "te",
		"trailer", "http2-settings"} // CopyChunks drops trailers
	endToEnd = []string{"host", "content-length", "transfer-encoding", "connection", "expect", "content-type",
		"content-encoding", "authorization", "cookie"}
)

// sorted parses the lines of a head and sorts the fields.
func sorted(lines []string) (*header, error) {
	h := &header{first: lines[0], fields: make([]field, 0, len(lines)), framed: map[string][]string{}}
	for _, line := range lines[1:] {
		name, value, ok := strings.Cut(line, ":")
		if !ok || !token(name) { // this also refuses a space before the colon and a folded line
			return nil, refuse(policy.ReasonProtocol, "a malformed header field")
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
	switch {
	case slices.Contains(framingFields, plain):
		if plain != f.key {
			return refuse(policy.ReasonProtocol, "a framing field's name with '_'")
		}
		h.framed[f.key] = append(h.framed[f.key], f.value)
	case slices.Contains(hopByHop, f.key):
	default:
		if h.override == "" && slices.Contains(overrideFields, plain) {
			h.override = f.name
		}
		h.fields = append(h.fields, f)
	}
	return nil
}

// nominated removes the fields that Connection names. It must not name those that determine the message's destination
// and end.
func (h *header) nominated() error {
	for o := range strings.SplitSeq(strings.Join(h.framed["connection"], ","), ",") {
		if o = strings.ToLower(strings.Trim(o, " \t")); o != "" {
			h.options = append(h.options, o)
		}
	}
	for _, o := range h.options {
		if !token(o) {
			return refuse(policy.ReasonProtocol, "a malformed Connection field")
		}
		if slices.Contains(endToEnd, strings.ReplaceAll(o, "_", "-")) {
			return refuse(policy.ReasonProtocol, "Connection names an end-to-end field")
		}
	}
	if len(h.options) > 16 {
		return refuse(policy.ReasonProtocol, "more than 16 words in Connection")
	}
	h.fields = slices.DeleteFunc(h.fields, func(f field) bool { return h.option(f.key) })
	return nil
}

func (h *header) option(word string) bool { return slices.Contains(h.options, word) }

// websocket reports whether the head requests, or accepts, the only upgrade that is allowed.
func (h *header) websocket() bool {
	to := h.framed["upgrade"]
	return h.option("upgrade") && len(to) == 1 && strings.EqualFold(to[0], "websocket")
}

// framing parses Content-Length and Transfer-Encoding; without either it returns otherwise.
func (h *header) framing(version string, otherwise BodyKind) (f Framing, err error) {
	length, encoding := h.framed["content-length"], h.framed["transfer-encoding"]
	switch {
	case len(length)+len(encoding) > 1:
		return f, refuse(policy.ReasonProtocol, "more than one Content-Length or Transfer-Encoding, or both")
	case len(encoding) == 1:
		if !strings.EqualFold(encoding[0], "chunked") || version != http11 {
			return f, refuse(policy.ReasonProtocol, "a Transfer-Encoding that is not chunked, or in HTTP/1.0")
		}
		return Framing{Kind: Chunked}, nil
	case len(length) == 1:
		n, ok := decimal(length[0])
		if !ok {
			return f, refuse(policy.ReasonProtocol, "a malformed Content-Length")
		}
		return Framing{Length, n}, nil
	}
	return Framing{Kind: otherwise}, nil
}

// decimal parses digits only, without a leading zero.
func decimal(s string) (int64, bool) {
	n, err := strconv.ParseUint(s, 10, 63)
	return int64(n), err == nil && len(s) <= maxDigits && (s[0] != '0' || len(s) == 1)
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

// emit writes a head: its first lines, the fields, the framing, and the last lines.
func (h *header) emit(lines []string, f Framing, tail []string) []byte {
	for _, f := range h.fields {
		lines = append(lines, f.name+": "+f.value)
	}
	switch f.Kind {
	case Length:
		lines = append(lines, "Content-Length: "+strconv.FormatInt(f.Length, 10))
	case Chunked:
		lines = append(lines, "Transfer-Encoding: chunked")
	}
	return []byte(strings.Join(append(lines, tail...), "\r\n") + "\r\n\r\n")
}

// connection returns the fields that announce an upgrade or the end of the connection.
func connection(upgrade, ends bool) []string {
	switch {
	case upgrade:
		return []string{"Connection: Upgrade", "Upgrade: websocket"}
	case ends:
		return []string{"Connection: close"}
	}
	return nil
}
