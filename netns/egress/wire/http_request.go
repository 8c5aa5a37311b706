package wire

import (
	"bufio"
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"brig/netns/egress/policy"
)

const (
	http11      = "HTTP/1.1"
	http10      = "HTTP/1.0"
	defaultPort = 80
)

// BodyKind is the way in which the end of a body is determined.
type BodyKind int

// The kinds of bodies.
const (
	None       BodyKind = iota // there is none
	Length                     // after Framing.Length bytes
	Chunked                    // after the chunk of length 0
	UntilClose                 // with the connection (responses only)
)

// Framing describes the end of a body.
type Framing struct {
	Kind   BodyKind
	Length int64 // bytes, for Kind Length
}

// Request is a request's head.
type Request struct {
	Method, Version string // "GET", "HTTP/1.1"
	Target          string // the target sent upstream: origin-form, or "*"
	Path            string // Target without the query, as sent
	Host            string // lower case, no port, no last dot; an address is in its canonical form without brackets
	HostPort        int    // the port in Host, 0: none
	Close           bool   // the connection ends after the response (asked for, HTTP/1.0, GET with a body …)
	Upgrade         bool   // requests a websocket, as Head does: refuse, or relay bytes after a Response with Upgrade
	// ExpectContinue means that the client waits for a 1xx before it sends the body, and Head asks upstream for one. If
	// another response comes first, the body may or may not follow: close both connections after it.
	ExpectContinue bool
	// Override is the name of the first field from which some servers take another method or path than that of the
	// first line ("X-HTTP-Method-Override"), "" if none: refuse if a rule limits methods or paths.
	Override string
	Body     Framing
	Head     []byte // canonical: what to send upstream
}

// ReadRequest reads a request's head, up to its empty line. An error is an *Error, or the reader's; it is io.EOF if no
// byte arrived. Bytes that no head has are refused at once. After a request with Upgrade, do not read further bytes
// of the client before the response's head: only that determines whether they are the next request.
//
// An absolute target must agree with Host and is sent upstream in origin-form. Hop-by-hop fields and those that
// Connection names are not sent upstream, nor are upgrades other than to a websocket (a server may always ignore them).
// HTTP/1.0 is forwarded as such, with one request for each connection.
func ReadRequest(br *bufio.Reader) (*Request, error) {
	h, err := readHead(br, maxHead)
	if err != nil {
		return nil, err
	}
	r := &Request{Override: h.override}
	if err := r.firstLine(h.first); err != nil {
		return nil, err
	}
	hosts := h.framed["host"]
	if len(hosts) != 1 {
		return nil, refuse(policy.ReasonHostMismatch, "%d Host fields", len(hosts))
	}
	canonical, err := r.setHost(hosts[0])
	if err != nil {
		return nil, err
	}
	if err := r.originForm(); err != nil {
		return nil, err
	}
	if r.Body, err = h.framing(r.Version, None); err != nil {
		return nil, err
	}
	r.Close = r.Version == http10 || h.option("close") || r.hasBody() && slices.Contains(bodiless, r.Method)
	if r.Upgrade = h.websocket() && r.Version == http11 && r.Method == "GET" && !r.hasBody(); r.Upgrade && r.Close {
		return nil, refuse(policy.ReasonProtocol, "an upgrade of a connection that is to be closed")
	}
	tail := connection(r.Upgrade, r.Close)
	if expect := h.framed["expect"]; len(expect) > 0 {
		if len(expect) > 1 || !strings.EqualFold(expect[0], "100-continue") {
			return nil, refuse(policy.ReasonProtocol, "an Expect field other than 100-continue")
		}
		if r.ExpectContinue = r.Version == http11 && r.hasBody(); r.ExpectContinue {
			tail = slices.Insert(tail, 0, "Expect: 100-continue")
		}
	}
	r.Head = h.emit([]string{r.Method + " " + r.Target + " " + r.Version, "Host: " + canonical}, r.Body, tail)
	return r, nil
}

func (r *Request) hasBody() bool { return r.Body.Kind != None && r.Body != Framing{Kind: Length} }

// bodiless are methods for which servers expect no body. A server that leaves the body unread would parse it as the
// next request, which has not been checked, unless this request is the last.
var bodiless = []string{"GET", "HEAD", "OPTIONS", "TRACE"}

// EndAfter makes a request with a body the last of its connection, and announces that in Head. Use it if a rule limits
// methods or paths: some servers also leave the body of a POST unread, and parse it as a request.
func (r *Request) EndAfter() {
	if r.Close || !r.hasBody() {
		return
	}
	r.Close = true
	r.Head = append(r.Head[:len(r.Head)-2:len(r.Head)-2], "Connection: close\r\n\r\n"...)
}

func (r *Request) firstLine(line string) error {
	method, rest, _ := strings.Cut(line, " ")
	target, version, ok := strings.Cut(rest, " ")
	if !ok || !strings.HasPrefix(version, "HTTP/") {
		return refuse(policy.ReasonNotHTTP, "the first line is not METHOD TARGET HTTP/1.1")
	}
	if version != http11 && version != http10 {
		return refuse(policy.ReasonNotHTTP, "a version other than HTTP/1.1 and HTTP/1.0")
	}
	// some servers accept "get" for GET, and no registered method has other characters
	if strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") != "" {
		return refuse(policy.ReasonMethod, "a method with other than upper-case letters")
	}
	if method == "" || len(method) > 32 {
		return refuse(policy.ReasonMethod, "a method of %d bytes", len(method))
	}
	if method == "CONNECT" {
		return refuse(policy.ReasonMethod, "CONNECT: this is not a proxy")
	}
	for i := range len(target) {
		if c := target[i]; c <= ' ' || c >= 0x7f || c == '#' {
			return refuse(policy.ReasonProtocol, "byte %#02x in the request target", c)
		}
	}
	r.Method, r.Target, r.Version = method, target, version
	return nil
}

// setHost parses a Host field and returns its canonical spelling.
func (r *Request) setHost(value string) (canonical string, err error) {
	host, port, ok := authority(value)
	if !ok {
		return "", refuse(policy.ReasonNameInvalid, "the Host field is not a host name or address with an optional port")
	}
	r.Host, r.HostPort = host, port
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != 0 {
		host += ":" + strconv.Itoa(port)
	}
	return host, nil
}

// originForm converts an absolute target to origin-form. It must name the same host and port as Host.
func (r *Request) originForm() error {
	switch {
	case r.Target == "*" && r.Method == "OPTIONS":
	case strings.HasPrefix(r.Target, "/"):
	case len(r.Target) > 7 && strings.EqualFold(r.Target[:7], "http://"):
		rest := r.Target[7:]
		end := strings.IndexAny(rest, "/?")
		if end < 0 {
			end = len(rest)
		}
		host, port, ok := authority(rest[:end])
		if !ok || host != r.Host || cmp.Or(port, defaultPort) != cmp.Or(r.HostPort, defaultPort) {
			return refuse(policy.ReasonHostMismatch, "the request target and Host disagree")
		}
		r.Target = rest[end:]
		if r.Target == "" && r.Method == "OPTIONS" {
			r.Target = "*"
		} else if !strings.HasPrefix(r.Target, "/") {
			r.Target = "/" + r.Target
		}
	default:
		return refuse(policy.ReasonProtocol, "the request target is neither a path nor an http:// URL")
	}
	r.Path, _, _ = strings.Cut(r.Target, "?")
	return nil
}

// authority parses "host", "host:port", "[v6]", "[v6]:port". It refuses user names, ports with leading zeros, and names
// that some programs parse as addresses.
func authority(s string) (host string, port int, ok bool) {
	host = s
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.HasSuffix(s, "]") {
		n, good := decimal(s[i+1:])
		if !good || n < 1 || n > 65535 {
			return "", 0, false
		}
		host, port = s[:i], int(n)
	}
	if inner, v6 := strings.CutPrefix(host, "["); v6 {
		inner, closed := strings.CutSuffix(inner, "]")
		a, err := netip.ParseAddr(inner)
		if !closed || err != nil || !a.Is6() || a.Zone() != "" || a.Is4In6() {
			return "", 0, false
		}
		return a.String(), port, true
	}
	if a, err := netip.ParseAddr(host); err == nil && a.Is4() {
		return host, port, true
	}
	host, ok = policy.NormalizeName(host)
	return host, port, ok
}
