package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"brig/internal/test/must"
	"brig/netns/egress/policy"
)

// crlf writes a head in short: lines end in "|", the empty line is added.
func crlf(s string) string { return strings.ReplaceAll(s, "|", "\r\n") + "\r\n\r\n" }

// reason is the Reason of an *Error, or the text of another.
func reason(err error) policy.Reason {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return policy.Reason(fmt.Sprint(err))
}

// parseRequest reads a request's head that has to be all of b, without asking for more.
func parseRequest(b []byte) (*Request, error) {
	r := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(b), failing{}), 2*maxHead)
	req, err := ReadRequest(r)
	if err == nil && r.Buffered() > 0 {
		return nil, refuse(policy.ReasonProtocol, "more than one head")
	}
	return req, err
}

func TestRequest(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     Request // without Head; Method GET, Target and Path "/", Version and Host may be left out
		out      string
	}{
		{"plain", "GET / HTTP/1.1|Host: example.com", Request{}, "GET / HTTP/1.1|Host: example.com"},
		{"query", "GET /a?b=c HTTP/1.1|Host: example.com", Request{Target: "/a?b=c", Path: "/a"}, "GET /a?b=c HTTP/1.1|Host: example.com"},
		{"Host comes first, in one spelling", "GET / HTTP/1.1|Accept:*/*|hOSt:\t EXAMPLE.com.:8080 |B: \xff b\t", Request{HostPort: 8080},
			"GET / HTTP/1.1|Host: example.com:8080|Accept: */*|B: \xff b"},
		{"port 80 is kept", "GET / HTTP/1.1|Host: example.com:80", Request{HostPort: 80}, "GET / HTTP/1.1|Host: example.com:80"},
		{"IPv4", "GET / HTTP/1.1|Host: 192.0.2.1", Request{Host: "192.0.2.1"}, "GET / HTTP/1.1|Host: 192.0.2.1"},
		{"IPv6", "GET / HTTP/1.1|Host: [2001:DB8:0::1]:81", Request{Host: "2001:db8::1", HostPort: 81}, "GET / HTTP/1.1|Host: [2001:db8::1]:81"},
		{"absolute", "GET HTTP://Example.com:80/a?b HTTP/1.1|Host: example.com", Request{Target: "/a?b", Path: "/a"},
			"GET /a?b HTTP/1.1|Host: example.com"},
		{"absolute without a path", "GET http://example.com?b HTTP/1.1|Host: example.com", Request{Target: "/?b"}, "GET /?b HTTP/1.1|Host: example.com"},
		{"absolute of the server", "OPTIONS http://example.com HTTP/1.1|Host: example.com", Request{Method: "OPTIONS", Target: "*", Path: "*"},
			"OPTIONS * HTTP/1.1|Host: example.com"},
		{"OPTIONS *", "OPTIONS * HTTP/1.1|Host: example.com", Request{Method: "OPTIONS", Target: "*", Path: "*"},
			"OPTIONS * HTTP/1.1|Host: example.com"},
		{"WebDAV", "VERSION-CONTROL / HTTP/1.1|Host: example.com", Request{Method: "VERSION-CONTROL"}, "VERSION-CONTROL / HTTP/1.1|Host: example.com"},
		{"length", "POST / HTTP/1.1|Content-Length: 5|Host: example.com", Request{Method: "POST", Body: Framing{Length, 5}},
			"POST / HTTP/1.1|Host: example.com|Content-Length: 5"},
		{"chunked", "POST / HTTP/1.1|Transfer-Encoding: Chunked|Host: example.com|Trailer: X", Request{Method: "POST", Body: Framing{Kind: Chunked}},
			"POST / HTTP/1.1|Host: example.com|Transfer-Encoding: chunked"},
		{"expect", "PUT / HTTP/1.1|Host: example.com|Expect: 100-Continue|Content-Length: 1",
			Request{Method: "PUT", ExpectContinue: true, Body: Framing{Length, 1}}, "PUT / HTTP/1.1|Host: example.com|Content-Length: 1|Expect: 100-continue"},
		{"expect without a body", "GET / HTTP/1.1|Host: example.com|Expect: 100-continue", Request{}, "GET / HTTP/1.1|Host: example.com"},
		{"close", "GET / HTTP/1.1|Host: example.com|Connection: keep-alive, Close", Request{Close: true}, "GET / HTTP/1.1|Host: example.com|Connection: close"},
		{"HTTP/1.0", "GET / HTTP/1.0|Host: example.com|Connection: keep-alive", Request{Version: http10, Close: true},
			"GET / HTTP/1.0|Host: example.com|Connection: close"},
		{"hop by hop", "GET / HTTP/1.1|Host: example.com|Connection: X-Secret,, te|X-Secret: 1|Keep: 2|TE: trailers|Keep-Alive: 5|Proxy-Authorization: p|Proxy-Connection: close",
			Request{}, "GET / HTTP/1.1|Host: example.com|Keep: 2"},
		{"websocket", "GET / HTTP/1.1|Host: example.com|Connection: keep-alive, upgrade|Upgrade: WebSocket|Sec-WebSocket-Key: k", Request{Upgrade: true},
			"GET / HTTP/1.1|Host: example.com|Sec-WebSocket-Key: k|Connection: Upgrade|Upgrade: websocket"},
		{"h2c", "GET / HTTP/1.1|Host: example.com|Connection: Upgrade, HTTP2-Settings|Upgrade: h2c|HTTP2-Settings: A", Request{}, "GET / HTTP/1.1|Host: example.com"},
		{"websocket or h2c", "GET / HTTP/1.1|Host: example.com|Connection: Upgrade|Upgrade: websocket, h2c", Request{}, "GET / HTTP/1.1|Host: example.com"},
		{"websocket twice", "GET / HTTP/1.1|Host: example.com|Connection: Upgrade|Upgrade: websocket|Upgrade: h2c", Request{}, "GET / HTTP/1.1|Host: example.com"},
		{"upgrade with a body", "GET / HTTP/1.1|Host: example.com|Connection: Upgrade|Upgrade: websocket|Content-Length: 3",
			Request{Close: true, Body: Framing{Length, 3}}, "GET / HTTP/1.1|Host: example.com|Content-Length: 3|Connection: close"},
		{"GET with chunks", "GET / HTTP/1.1|Host: example.com|Transfer-Encoding: chunked", Request{Close: true, Body: Framing{Kind: Chunked}},
			"GET / HTTP/1.1|Host: example.com|Transfer-Encoding: chunked|Connection: close"},
		{"GET with a length of nothing", "GET / HTTP/1.1|Host: example.com|Content-Length: 0", Request{Body: Framing{Kind: Length}},
			"GET / HTTP/1.1|Host: example.com|Content-Length: 0"},
		{"upgrade that Connection does not name", "GET / HTTP/1.1|Host: example.com|Upgrade: websocket", Request{}, "GET / HTTP/1.1|Host: example.com"},
		{"override", "GET / HTTP/1.1|Host: example.com|X_HTTP-Method_Override: DELETE", Request{Override: "X_HTTP-Method_Override"},
			"GET / HTTP/1.1|Host: example.com|X_HTTP-Method_Override: DELETE"},
		{"rewrite", "GET / HTTP/1.1|Host: example.com|X-Original-URL: /admin", Request{Override: "X-Original-URL"},
			"GET / HTTP/1.1|Host: example.com|X-Original-URL: /admin"},
		{"a length of nothing", "POST / HTTP/1.1|Host: example.com|Content-Length: 0", Request{Method: "POST", Body: Framing{Length, 0}},
			"POST / HTTP/1.1|Host: example.com|Content-Length: 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := must.Get(parseRequest([]byte(crlf(c.in))))(t)
			for _, d := range []struct {
				to   *string
				what string
			}{{&c.want.Method, "GET"}, {&c.want.Target, "/"}, {&c.want.Path, "/"}, {&c.want.Version, http11}, {&c.want.Host, "example.com"}} {
				if *d.to == "" {
					*d.to = d.what
				}
			}
			if string(got.Head) != crlf(c.out) {
				t.Errorf("head %q", got.Head)
			}
			got.Head = nil
			if fmt.Sprint(*got) != fmt.Sprint(c.want) {
				t.Errorf("got  %+v\nwant %+v", *got, c.want)
			}
		})
	}
}

func TestRequestRefused(t *testing.T) {
	const first = "GET / HTTP/1.1|Host: example.com"
	for _, c := range []struct {
		name, in string
		reason   policy.Reason
	}{
		{"CL.TE", first + "|Content-Length: 6|Transfer-Encoding: chunked", policy.ReasonProtocol},
		{"TE.CL", first + "|Transfer-Encoding: chunked|Content-Length: 6", policy.ReasonProtocol},
		{"TE.TE", first + "|Transfer-Encoding: chunked|Transfer-Encoding: identity", policy.ReasonProtocol},
		{"chunked twice", first + "|Transfer-Encoding: chunked|Transfer-Encoding: chunked", policy.ReasonProtocol},
		{"chunked, identity", first + "|Transfer-Encoding: chunked, identity", policy.ReasonProtocol},
		{"gzip, chunked", first + "|Transfer-Encoding: gzip, chunked", policy.ReasonProtocol},
		{"xchunked", first + "|Transfer-Encoding: xchunked", policy.ReasonProtocol},
		{"quoted", first + "|Transfer-Encoding: \"chunked\"", policy.ReasonProtocol},
		{"chunked;", first + "|Transfer-Encoding: chunked;q=1", policy.ReasonProtocol},
		{"vertical tab", first + "|Transfer-Encoding: \vchunked", policy.ReasonProtocol},
		{"no-break space", first + "|Transfer-Encoding: \xa0chunked", policy.ReasonProtocol},
		{"empty encoding", first + "|Transfer-Encoding:", policy.ReasonProtocol},
		{"space before the colon", first + "|Transfer-Encoding : chunked", policy.ReasonProtocol},
		{"tab before the colon", first + "|Transfer-Encoding\t: chunked", policy.ReasonProtocol},
		{"underscore", first + "|Transfer_Encoding: chunked", policy.ReasonProtocol},
		{"length with underscore", first + "|Content_Length: 5", policy.ReasonProtocol},
		{"folded line", first + "|Transfer-Encoding:| chunked", policy.ReasonProtocol},
		{"folded by a tab", first + "|X: a|\tTransfer-Encoding: chunked", policy.ReasonProtocol},
		{"encoding in HTTP/1.0", "POST / HTTP/1.0|Host: example.com|Transfer-Encoding: chunked", policy.ReasonProtocol},
		{"two lengths", first + "|Content-Length: 5|Content-Length: 6", policy.ReasonProtocol},
		{"the same length twice", first + "|Content-Length: 5|content-length: 5", policy.ReasonProtocol},
		{"list of lengths", first + "|Content-Length: 5, 5", policy.ReasonProtocol},
		{"+5", first + "|Content-Length: +5", policy.ReasonProtocol},
		{"-5", first + "|Content-Length: -5", policy.ReasonProtocol},
		{"0x5", first + "|Content-Length: 0x5", policy.ReasonProtocol},
		{"5_0", first + "|Content-Length: 5_0", policy.ReasonProtocol},
		{"05", first + "|Content-Length: 05", policy.ReasonProtocol},
		{"5 0", first + "|Content-Length: 5 0", policy.ReasonProtocol},
		{"5.0", first + "|Content-Length: 5.0", policy.ReasonProtocol},
		{"empty length", first + "|Content-Length:", policy.ReasonProtocol},
		{"length beyond 64 bits", first + "|Content-Length: 18446744073709551621", policy.ReasonProtocol},
		{"NUL", first + "|X: a\x00b", policy.ReasonProtocol},
		{"bare CR", first + "|X: a\rTransfer-Encoding: chunked", policy.ReasonProtocol},
		{"bare LF", first + "|X: a\nTransfer-Encoding: chunked", policy.ReasonProtocol},
		{"bare LF ends the head", first + "\n\r\nGET /2 HTTP/1.1", policy.ReasonProtocol},
		{"DEL", first + "|X: \x7f", policy.ReasonProtocol},
		{"no colon", first + "|X", policy.ReasonProtocol},
		{"empty name", first + "|: x", policy.ReasonProtocol},
		{"8 bits in a name", first + "|X\xa0: x", policy.ReasonProtocol},
		{"more than one head", first + "||GET /2 HTTP/1.1|Host: example.com", policy.ReasonProtocol},
		{"empty line first", "|" + first, policy.ReasonNotHTTP},
		{"too many fields", first + strings.Repeat("|X: y", 256), policy.ReasonProtocol},
		{"too long", first + "|X: " + strings.Repeat("y", maxHead), policy.ReasonProtocol},
		{"no Host", "GET / HTTP/1.1|X: y", policy.ReasonHostMismatch},
		{"HTTP/1.0 without Host", "GET / HTTP/1.0", policy.ReasonHostMismatch},
		{"two Hosts", first + "|Host: evil.org", policy.ReasonHostMismatch},
		{"the same Host twice", first + "|host: example.com", policy.ReasonHostMismatch},
		{"empty Host", "GET / HTTP/1.1|Host:", policy.ReasonNameInvalid},
		{"user name", "GET / HTTP/1.1|Host: example.com@evil.org", policy.ReasonNameInvalid},
		{"user name and port", "GET / HTTP/1.1|Host: example.com:80@evil.org", policy.ReasonNameInvalid},
		{"list of Hosts", "GET / HTTP/1.1|Host: example.com, evil.org", policy.ReasonNameInvalid},
		{"space in Host", "GET / HTTP/1.1|Host: example.com evil.org", policy.ReasonNameInvalid},
		{"path in Host", "GET / HTTP/1.1|Host: example.com/evil.org", policy.ReasonNameInvalid},
		{"query in Host", "GET / HTTP/1.1|Host: evil.org?.example.com", policy.ReasonNameInvalid},
		{"8-bit Host", "GET / HTTP/1.1|Host: ex\xc3\xa4mple.com", policy.ReasonNameInvalid},
		{"encoded Host", "GET / HTTP/1.1|Host: example%2ecom", policy.ReasonNameInvalid},
		{"two last dots", "GET / HTTP/1.1|Host: example.com..", policy.ReasonNameInvalid},
		{"only a dot", "GET / HTTP/1.1|Host: .", policy.ReasonNameInvalid},
		{"255 bytes", "GET / HTTP/1.1|Host: " + strings.Repeat("a.", 127) + "a", policy.ReasonNameInvalid},
		{"label of 64", "GET / HTTP/1.1|Host: " + strings.Repeat("a", 64), policy.ReasonNameInvalid},
		{"empty label", "GET / HTTP/1.1|Host: example..com", policy.ReasonNameInvalid},
		{"empty port", "GET / HTTP/1.1|Host: example.com:", policy.ReasonNameInvalid},
		{"port 0", "GET / HTTP/1.1|Host: example.com:0", policy.ReasonNameInvalid},
		{"port 080", "GET / HTTP/1.1|Host: example.com:080", policy.ReasonNameInvalid},
		{"port +80", "GET / HTTP/1.1|Host: example.com:+80", policy.ReasonNameInvalid},
		{"port 65616", "GET / HTTP/1.1|Host: example.com:65616", policy.ReasonNameInvalid},
		{"two ports", "GET / HTTP/1.1|Host: example.com:80:80", policy.ReasonNameInvalid},
		{"IPv6 without brackets", "GET / HTTP/1.1|Host: 2001:db8::1", policy.ReasonNameInvalid},
		{"IPv6 zone", "GET / HTTP/1.1|Host: [fe80::1%25eth0]", policy.ReasonNameInvalid},
		{"IPv4 in IPv6", "GET / HTTP/1.1|Host: [::ffff:192.0.2.1]", policy.ReasonNameInvalid},
		{"bracket not closed", "GET / HTTP/1.1|Host: [2001:db8::1", policy.ReasonNameInvalid},
		{"IPv4 in brackets", "GET / HTTP/1.1|Host: [192.0.2.1]", policy.ReasonNameInvalid},
		{"after the bracket", "GET / HTTP/1.1|Host: [2001:db8::1].evil.org", policy.ReasonNameInvalid},
		{"127.1", "GET / HTTP/1.1|Host: 127.1", policy.ReasonNameInvalid},
		{"0x7f.1", "GET / HTTP/1.1|Host: 0x7f.0x1", policy.ReasonNameInvalid},
		{"one number", "GET / HTTP/1.1|Host: 2130706433", policy.ReasonNameInvalid},
		{"octal", "GET / HTTP/1.1|Host: 0177.0.0.1", policy.ReasonNameInvalid},
		{"absolute and Host disagree", "GET http://evil.org/ HTTP/1.1|Host: example.com", policy.ReasonHostMismatch},
		{"absolute and Host disagree in the port", "GET http://example.com:8080/ HTTP/1.1|Host: example.com", policy.ReasonHostMismatch},
		{"absolute with a user name", "GET http://example.com@evil.org/ HTTP/1.1|Host: example.com", policy.ReasonHostMismatch},
		{"absolute with a backslash", `GET http://example.com\@evil.org/ HTTP/1.1|Host: example.com`, policy.ReasonHostMismatch},
		{"absolute without a host", "GET http:///x HTTP/1.1|Host: example.com", policy.ReasonHostMismatch},
		{"absolute https", "GET https://example.com/ HTTP/1.1|Host: example.com", policy.ReasonProtocol},
		{"CONNECT", "CONNECT example.com:443 HTTP/1.1|Host: example.com:443", policy.ReasonMethod},
		{"authority target", "GET example.com:80 HTTP/1.1|Host: example.com", policy.ReasonProtocol},
		{"GET *", "GET * HTTP/1.1|Host: example.com", policy.ReasonProtocol},
		{"fragment", "GET /#x HTTP/1.1|Host: example.com", policy.ReasonProtocol},
		{"8-bit target", "GET /\xc3\xa4 HTTP/1.1|Host: example.com", policy.ReasonProtocol},
		{"tab in the target", "GET /\tHTTP/1.1 HTTP/1.1|Host: example.com", policy.ReasonProtocol},
		{"get", "get / HTTP/1.1|Host: example.com", policy.ReasonMethod},
		{"long method", strings.Repeat("A", 33) + " / HTTP/1.1|Host: example.com", policy.ReasonMethod},
		{"no method", " / HTTP/1.1|Host: example.com", policy.ReasonNotHTTP},
		{"HTTP/0.9", "GET /", policy.ReasonNotHTTP},
		{"HTTP/2 preface", "PRI * HTTP/2.0||SM", policy.ReasonNotHTTP},
		{"HTTP/2.0", "GET / HTTP/2.0|Host: example.com", policy.ReasonNotHTTP},
		{"HTTP/1.2", "GET / HTTP/1.2|Host: example.com", policy.ReasonNotHTTP},
		{"http/1.1", "GET / http/1.1|Host: example.com", policy.ReasonNotHTTP},
		{"two spaces", "GET  / HTTP/1.1|Host: example.com", policy.ReasonNotHTTP},
		{"space at the end", "GET / HTTP/1.1 |Host: example.com", policy.ReasonNotHTTP},
		{"space in the target", "GET / x HTTP/1.1|Host: example.com", policy.ReasonNotHTTP},
		{"Connection: Host", first + "|Connection: close, Host", policy.ReasonProtocol},
		{"Connection: Content-Length", first + "|Content-Length: 5|Connection: content-length", policy.ReasonProtocol},
		{"Connection: Transfer_Encoding", first + "|Connection: transfer_encoding", policy.ReasonProtocol},
		{"Connection: Cookie", first + "|Connection: cookie", policy.ReasonProtocol},
		{"Connection: no word", first + "|Connection: a b", policy.ReasonProtocol},
		{"Connection: very long", first + "|Connection: " + strings.Repeat("a,", 17), policy.ReasonProtocol},
		{"upgrade and close", first + "|Connection: upgrade, close|Upgrade: websocket", policy.ReasonProtocol},
		{"Expect", first + "|Expect: 200-ok", policy.ReasonProtocol},
		{"Expect twice", first + "|Expect: 100-continue|Expect: 100-continue", policy.ReasonProtocol},
	} {
		t.Run(c.name, func(t *testing.T) {
			if r, err := parseRequest([]byte(crlf(c.in))); reason(err) != c.reason {
				t.Errorf("%v; %+v", err, r)
			}
		})
	}
	for _, in := range []string{"", "\r\n", "\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\nx"} {
		if r, err := parseRequest([]byte(in)); err == nil {
			t.Errorf("%q: %+v", in, r)
		}
	}
}

func TestEndAfter(t *testing.T) {
	for in, want := range map[string]string{
		"POST / HTTP/1.1|Host: a|Content-Length: 5":                     "POST / HTTP/1.1|Host: a|Content-Length: 5|Connection: close",
		"POST / HTTP/1.1|Host: a|Content-Length: 5|Connection: close":   "POST / HTTP/1.1|Host: a|Content-Length: 5|Connection: close",
		"POST / HTTP/1.1|Host: a|Transfer-Encoding: chunked":            "POST / HTTP/1.1|Host: a|Transfer-Encoding: chunked|Connection: close",
		"GET / HTTP/1.1|Host: a":                                        "GET / HTTP/1.1|Host: a",
		"GET / HTTP/1.1|Host: a|Upgrade: websocket|Connection: upgrade": "GET / HTTP/1.1|Host: a|Connection: Upgrade|Upgrade: websocket",
	} {
		r := must.Get(parseRequest([]byte(crlf(in))))(t)
		r.EndAfter()
		again, err := parseRequest(r.Head)
		if string(r.Head) != crlf(want) || err != nil || again.Close != r.Close {
			t.Errorf("%q: %q", in, r.Head)
		}
	}
}

func TestReadHead(t *testing.T) {
	const head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	r := bufio.NewReaderSize(strings.NewReader(head+head+"GET"), 16)
	for range 2 {
		if got, err := readHead(r, len(head)); err != nil || got.first != "GET / HTTP/1.1" || got.framed["host"][0] != "a" {
			t.Fatalf("%+v %v", got, err)
		}
	}
	if _, err := readHead(r, 100); err != io.ErrUnexpectedEOF {
		t.Error(err)
	}
	if _, err := readHead(r, 100); err != io.EOF {
		t.Error(err)
	}
	for _, c := range []struct {
		name, in string
		reason   policy.Reason
	}{
		{"TLS", "\x16", policy.ReasonNotHTTP},
		{"empty line", "\r", policy.ReasonNotHTTP},
		{"bare LF", "GET / HTTP/1.1\n", policy.ReasonProtocol},
		{"bare CR", "GET / HTTP/1.1\rX", policy.ReasonProtocol},
		{"CR CR", "GET / HTTP/1.1\r\r", policy.ReasonProtocol},
		{"NUL", "GET /\x00", policy.ReasonProtocol},
		{"escape", "GET /\x1b", policy.ReasonProtocol},
		{"too long", strings.Repeat("G", 101), policy.ReasonProtocol},
		{"one byte too long", "GET / HTTP/1.1\r\nX: " + strings.Repeat("x", 101-16-3-4) + "\r\n\r\n", policy.ReasonProtocol},
	} {
		// the reader fails after the text: a refusal must not wait for more
		_, err := readHead(bufio.NewReader(io.MultiReader(strings.NewReader(c.in), failing{})), 100)
		if reason(err) != c.reason {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := readHead(bufio.NewReader(failing{}), 100); err != errFailing {
		t.Error(err)
	}
}

var errFailing = errors.New("failing")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errFailing }
