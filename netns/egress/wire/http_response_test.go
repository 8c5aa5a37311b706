package wire

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"testing"

	"brig/internal/test/must"
	"brig/netns/egress/policy"
)

// parseResponse reads a response's head that has to be all of b, without asking for more.
func parseResponse(b []byte, req *Request) (*Response, error) {
	r := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(b), failing{}), 2*maxHead)
	res, err := ReadResponse(r, req)
	if err == nil && r.Buffered() > 0 {
		return nil, refuse(policy.ReasonProtocol, "more than one head")
	}
	return res, err
}

func TestResponse(t *testing.T) {
	get, head := Request{Method: "GET", Version: http11}, Request{Method: "HEAD", Version: http11}
	old, last := Request{Method: "GET", Version: http10, Close: true}, Request{Method: "GET", Version: http11, Close: true}
	socket := Request{Method: "GET", Version: http11, Upgrade: true}
	for _, c := range []struct {
		name, in string
		req      Request
		want     Response
		out      string // "": none
	}{
		{"length", "HTTP/1.1 200 OK|content-length: 5|A: b", get, Response{Status: 200, Body: Framing{Length, 5}}, "HTTP/1.1 200 OK|A: b|Content-Length: 5"},
		{"chunked", "HTTP/1.1 200 OK|Transfer-Encoding: CHUNKED|Trailer: x", get, Response{Status: 200, Body: Framing{Kind: Chunked}},
			"HTTP/1.1 200 OK|Transfer-Encoding: chunked"},
		{"until close", "HTTP/1.1 200 OK", get, Response{Status: 200, Close: true, Body: Framing{Kind: UntilClose}}, "HTTP/1.1 200 OK|Connection: close"},
		{"no reason", "HTTP/1.1 404|Content-Length: 0", get, Response{Status: 404, Body: Framing{Kind: Length}}, "HTTP/1.1 404 |Content-Length: 0"},
		{"long reason", "HTTP/1.1 999 No \xff way|Content-Length: 0", get, Response{Status: 999, Body: Framing{Kind: Length}},
			"HTTP/1.1 999 No \xff way|Content-Length: 0"},
		{"from HTTP/1.0", "HTTP/1.0 200 OK|Connection: keep-alive|Content-Length: 5", get, Response{Status: 200, Close: true, Body: Framing{Length, 5}},
			"HTTP/1.1 200 OK|Content-Length: 5|Connection: close"},
		{"to HTTP/1.0", "HTTP/1.1 200 OK|Content-Length: 5", old, Response{Status: 200, Close: true, Body: Framing{Length, 5}},
			"HTTP/1.1 200 OK|Content-Length: 5|Connection: close"},
		{"the client wants to close", "HTTP/1.1 200 OK|Content-Length: 5|Connection: keep-alive|Keep-Alive: timeout=5", last,
			Response{Status: 200, Close: true, Body: Framing{Length, 5}}, "HTTP/1.1 200 OK|Content-Length: 5|Connection: close"},
		{"the server closes", "HTTP/1.1 200 OK|Content-Length: 5|Connection: close, X|X: y", get, Response{Status: 200, Close: true, Body: Framing{Length, 5}},
			"HTTP/1.1 200 OK|Content-Length: 5|Connection: close"},
		{"HEAD", "HTTP/1.1 200 OK|Content-Length: 5", head, Response{Status: 200}, "HTTP/1.1 200 OK|Content-Length: 5"},
		{"HEAD chunked", "HTTP/1.1 200 OK|Transfer-Encoding: chunked", head, Response{Status: 200}, "HTTP/1.1 200 OK|Transfer-Encoding: chunked"},
		{"HEAD without framing", "HTTP/1.1 200 OK", head, Response{Status: 200}, "HTTP/1.1 200 OK"},
		{"304", "HTTP/1.1 304 Not Modified|Content-Length: 5", get, Response{Status: 304}, "HTTP/1.1 304 Not Modified|Content-Length: 5"},
		{"204", "HTTP/1.1 204 No Content", get, Response{Status: 204}, "HTTP/1.1 204 No Content"},
		{"204 of length 0", "HTTP/1.1 204 No Content|Content-Length: 0", get, Response{Status: 204}, "HTTP/1.1 204 No Content"},
		{"204 with a body", "HTTP/1.1 204 No Content|Content-Length: 5", get, Response{Status: 204, Close: true}, "HTTP/1.1 204 No Content|Connection: close"},
		{"204 chunked", "HTTP/1.1 204 No Content|Transfer-Encoding: chunked", get, Response{Status: 204, Close: true},
			"HTTP/1.1 204 No Content|Connection: close"},
		{"100", "HTTP/1.1 100 Continue", get, Response{Status: 100, Interim: true}, "HTTP/1.1 100 Continue"},
		{"103", "HTTP/1.1 103 Early Hints|Link: x", last, Response{Status: 103, Interim: true, Close: true}, "HTTP/1.1 103 Early Hints|Link: x"},
		{"100 to HTTP/1.0", "HTTP/1.1 100 Continue", old, Response{Status: 100, Interim: true, Close: true}, ""},
		{"101", "HTTP/1.1 101 Switching Protocols|Upgrade: WebSocket|Connection: Upgrade|Sec-WebSocket-Accept: x", socket, Response{Status: 101, Upgrade: true},
			"HTTP/1.1 101 Switching Protocols|Sec-WebSocket-Accept: x|Connection: Upgrade|Upgrade: websocket"},
		{"no upgrade", "HTTP/1.1 200 OK|Upgrade: h2,h2c|Connection: Upgrade|Content-Length: 0", socket, Response{Status: 200, Body: Framing{Kind: Length}},
			"HTTP/1.1 200 OK|Content-Length: 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := must.Get(parseResponse([]byte(crlf(c.in)), &c.req))(t)
			if c.out != "" {
				c.out = crlf(c.out)
			}
			if string(got.Head) != c.out {
				t.Errorf("head %q", got.Head)
			}
			if got.Head = nil; fmt.Sprint(*got) != fmt.Sprint(c.want) {
				t.Errorf("got  %+v\nwant %+v", *got, c.want)
			}
		})
	}
}

func TestResponseRefused(t *testing.T) {
	const ok = "HTTP/1.1 200 OK"
	get := Request{Method: "GET", Version: http11}
	for _, c := range []struct {
		name, in string
		req      Request
		reason   policy.Reason
	}{
		{"length and encoding", ok + "|Content-Length: 5|Transfer-Encoding: chunked", get, policy.ReasonProtocol},
		{"two lengths", ok + "|Content-Length: 5|Content-Length: 5", get, policy.ReasonProtocol},
		{"gzip, chunked", ok + "|Transfer-Encoding: gzip, chunked", get, policy.ReasonProtocol},
		{"+5", ok + "|Content-Length: +5", get, policy.ReasonProtocol},
		{"length and encoding of a HEAD", ok + "|Content-Length: 5|Transfer-Encoding: chunked", Request{Method: "HEAD", Version: http11}, policy.ReasonProtocol},
		{"chunked from HTTP/1.0", "HTTP/1.0 200 OK|Transfer-Encoding: chunked", get, policy.ReasonProtocol},
		{"chunked to HTTP/1.0", ok + "|Transfer-Encoding: chunked", Request{Method: "GET", Version: http10}, policy.ReasonProtocol},
		{"folded", ok + "|A: b| c", get, policy.ReasonProtocol},
		{"bare LF", ok + "|A: b\nC: d", get, policy.ReasonProtocol},
		{"NUL", ok + "|A: \x00", get, policy.ReasonProtocol},
		{"space before the colon", ok + "|Content-Length : 5", get, policy.ReasonProtocol},
		{"Connection: Content-Length", ok + "|Connection: Content-Length|Content-Length: 5", get, policy.ReasonProtocol},
		{"101 not asked for", "HTTP/1.1 101 Switching Protocols|Upgrade: websocket|Connection: Upgrade", get, policy.ReasonProtocol},
		{"101 to something else", "HTTP/1.1 101 Switching Protocols|Upgrade: h2c|Connection: Upgrade", Request{Method: "GET", Version: http11, Upgrade: true}, policy.ReasonProtocol},
		{"101 without Upgrade", "HTTP/1.1 101 Switching Protocols", Request{Method: "GET", Version: http11, Upgrade: true}, policy.ReasonProtocol},
		{"HTTP/2", "HTTP/2 200", get, policy.ReasonNotHTTP},
		{"HTTP/1.1", "HTTP/1.1", get, policy.ReasonNotHTTP},
		{"ICY", "ICY 200 OK", get, policy.ReasonNotHTTP},
		{"status 099", "HTTP/1.1 099 x", get, policy.ReasonNotHTTP},
		{"status 20", "HTTP/1.1 20 x", get, policy.ReasonNotHTTP},
		{"status 2000", "HTTP/1.1 2000 x", get, policy.ReasonNotHTTP},
		{"status +20", "HTTP/1.1 +20 x", get, policy.ReasonNotHTTP},
		{"two spaces", "HTTP/1.1  200 OK", get, policy.ReasonNotHTTP},
		{"tab", "HTTP/1.1\t200 OK", get, policy.ReasonNotHTTP},
	} {
		if r, err := parseResponse([]byte(crlf(c.in)), &c.req); reason(err) != c.reason {
			t.Errorf("%s: %v; %+v", c.name, err, r)
		}
	}
}
