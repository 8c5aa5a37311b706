package wire

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// theirs returns how net/http delimits a body.
func theirs(length int64, encoding []string) Framing {
	switch {
	case reflect.DeepEqual(encoding, []string{"chunked"}):
		return Framing{Kind: Chunked}
	case length == -1:
		return Framing{Kind: UntilClose}
	}
	return Framing{Length, length}
}

func ours(f Framing) Framing {
	if f.Kind == None {
		return Framing{Kind: Length}
	}
	return f
}

// FuzzRequest: what goes upstream parses to the same again, and net/http reads the same in it.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{
		"GET / HTTP/1.1|Host: example.com",
		"POST http://Example.com:80/a%20b?c=d HTTP/1.1|Host: example.com.|Content-Length: 5|Connection: close, x|X: y",
		"PUT /a HTTP/1.1|Host: [2001:db8::1]:8080|Transfer-Encoding: Chunked|Expect: 100-continue|TE: trailers",
		"GET /chat HTTP/1.1|Host: a.b:1|Connection: keep-alive, Upgrade|Upgrade: websocket|Sec-WebSocket-Key: k",
		"GET / HTTP/1.0|Host: 192.0.2.1|X-Original-URL: /admin",
		"OPTIONS * HTTP/1.1|Host: example.com|Content-Length: 5|Transfer-Encoding: chunked",
		"GET / HTTP/1.1|Host: example.com|Transfer-Encoding : chunked|X: a\rb",
	} {
		f.Add([]byte(strings.TrimSuffix(crlf(s), "\r\n")))
	}
	f.Fuzz(func(t *testing.T, b []byte) { checkRequest(t, append(spell(b), '\r', '\n')) })
}

func checkRequest(t *testing.T, b []byte) {
	r, err := parseRequest(b)
	if err != nil {
		return
	}
	again, err := parseRequest(r.Head)
	if err != nil || !reflect.DeepEqual(again, r) {
		t.Fatalf("%q: %+v %v", r.Head, again, err)
	}
	if _, err := url.ParseRequestURI(r.Target); err != nil {
		return // net/http would refuse the target
	}
	rest := bufio.NewReader(bytes.NewReader(r.Head))
	h, err := http.ReadRequest(rest)
	if err != nil || rest.Buffered() != 0 {
		t.Fatalf("%q: %v", r.Head, err)
	}
	host := r.Host
	if r.HostPort != 0 {
		host = net.JoinHostPort(host, strconv.Itoa(r.HostPort))
	} else if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if h.Method != r.Method || h.Host != host || h.RequestURI != r.Target || h.Proto != r.Version || h.Close != r.Close ||
		theirs(h.ContentLength, h.TransferEncoding) != ours(r.Body) || (h.Header.Get("Upgrade") != "") != r.Upgrade ||
		(h.Header.Get("Expect") != "") != r.ExpectContinue {
		t.Errorf("net/http reads %+v in %q", h, r.Head)
	}
	for _, k := range []string{"Te", "Trailer", "Keep-Alive", "Proxy-Connection", "Proxy-Authorization", "Http2-Settings"} {
		if _, ok := h.Header[k]; ok {
			t.Errorf("%s goes upstream: %q", k, r.Head)
		}
	}
}

// FuzzResponse: what goes to the client parses to the same again, and net/http reads the same in it.
func FuzzResponse(f *testing.F) {
	for i, s := range []string{
		"HTTP/1.1 200 OK|Content-Length: 5",
		"HTTP/1.1 200|Transfer-Encoding: chunked|Connection: close|Trailer: x",
		"HTTP/1.0 404 Not Found|Connection: keep-alive",
		"HTTP/1.1 101 Switching Protocols|Upgrade: websocket|Connection: upgrade",
		"HTTP/1.1 304 Not Modified|Content-Length: 7|ETag: x",
		"HTTP/1.1 204 No Content|Content-Length: 7",
		"HTTP/1.1 103 Early Hints|Link: x",
	} {
		f.Add([]byte(strings.TrimSuffix(crlf(s), "\r\n")), byte(i))
	}
	f.Fuzz(func(t *testing.T, b []byte, kind byte) { checkResponse(t, append(spell(b), '\r', '\n'), kind) })
}

func checkResponse(t *testing.T, b []byte, kind byte) {
	req := &Request{Method: "GET", Version: http11, Upgrade: kind&1 != 0, Close: kind&4 != 0}
	if kind&2 != 0 {
		req.Method, req.Upgrade = "HEAD", false
	}
	if kind&8 != 0 {
		req.Version, req.Upgrade, req.Close = http10, false, true
	}
	r, err := parseResponse(b, req)
	if err != nil {
		return
	}
	if len(r.Head) == 0 {
		if !r.Interim || req.Version != http10 {
			t.Fatalf("no head: %+v", r)
		}
		return
	}
	again, err := parseResponse(r.Head, req)
	if r.Interim && again != nil {
		again.Close = r.Close // an interim response does not announce it
	}
	if err != nil || !reflect.DeepEqual(again, r) {
		t.Fatalf("%q: %+v %v", r.Head, again, err)
	}
	rest := bufio.NewReader(bytes.NewReader(r.Head))
	h, err := http.ReadResponse(rest, &http.Request{Method: req.Method})
	if err != nil || rest.Buffered() != 0 {
		t.Fatalf("%q: %v", r.Head, err)
	}
	if h.StatusCode != r.Status || h.Close != r.Close && !r.Interim && !r.Upgrade {
		t.Errorf("net/http reads %+v in %q", h, r.Head)
	}
	if req.Method != "HEAD" && r.Status != 304 && theirs(h.ContentLength, h.TransferEncoding) != ours(r.Body) {
		t.Errorf("net/http reads a body of %d %v in %q", h.ContentLength, h.TransferEncoding, r.Head)
	}
}

// FuzzBody: a forwarded body parses to the same content again, and net/http reads the same bytes from it.
func FuzzBody(f *testing.F) {
	f.Add([]byte("5\r\nhello\r\n0\r\n\r\nnext"))
	f.Add([]byte("00A;x=y\r\n0123456789\r\n0\r\nDigest: x\r\n\r\n"))
	f.Add([]byte("5\nhello\r\n0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = spell(b)
		var out bytes.Buffer
		src := bufio.NewReaderSize(bytes.NewReader(b), 16)
		if err := CopyChunks(&out, src); err != nil {
			if bytes.HasSuffix(out.Bytes(), []byte("\r\n0\r\n\r\n")) && !bytes.Contains(b, []byte("\r\n0\r\n\r\n")) {
				t.Fatalf("an end that did not come: %q", out.Bytes())
			}
			return
		}
		rest, err := io.ReadAll(src)
		if err != nil || !bytes.HasSuffix(b, rest) {
			t.Fatalf("rest %q, %v", rest, err)
		}
		first := payload(t, b[:len(b)-len(rest)])
		if second := payload(t, out.Bytes()); !bytes.Equal(first, second) {
			t.Fatalf("%q became %q", first, second)
		}
		var again bytes.Buffer
		src.Reset(bytes.NewReader(out.Bytes()))
		if err := CopyChunks(&again, src); err != nil || !bytes.Equal(again.Bytes(), out.Bytes()) || src.Buffered() != 0 {
			t.Fatalf("%q became %q, %v", out.Bytes(), again.Bytes(), err)
		}
	})
}

// payload is what net/http reads in a chunked body; the trailers, and nothing else, may follow.
func payload(t *testing.T, b []byte) []byte {
	t.Helper()
	r := bufio.NewReader(bytes.NewReader(b))
	text, err := io.ReadAll(httputil.NewChunkedReader(r))
	rest, more := io.ReadAll(r)
	if err != nil || more != nil || string(rest) != "\r\n" && (!bytes.HasSuffix(rest, []byte("\r\n\r\n")) || bytes.Contains(rest[:len(rest)-4], []byte("\r\n\r\n"))) {
		t.Fatalf("net/http: %q, then %q, %v %v", b, rest, err, more)
	}
	return text
}

// words are what a byte from 0x80 on stands for in an input of the HTTP fuzzers: mutations of single bytes would
// seldom hit upon them.
var words = []string{"\r\n", "\r\n ", "\x00", "\x80", "\xa0", "\xff", "Host: example.com\r\n", "Host: a.b:81\r\n", "Host: [::1]\r\n", "Host: 1.2.3.4.\r\n",
	"Content-Length: 5\r\n", "Content-Length: 0\r\n", "Content-Length: +5\r\n", "Transfer-Encoding: chunked\r\n", "transfer-encoding:\tCHUNKED\r\n",
	"Transfer-Encoding: identity\r\n", "Connection: close\r\n", "Connection: keep-alive\r\n", "Connection: upgrade, x, te\r\n", "Connection: host\r\n",
	"Upgrade: websocket\r\n", "Upgrade: h2c\r\n", "Expect: 100-continue\r\n", "TE: trailers\r\n", "Trailer: X\r\n", "Keep-Alive: 5\r\n", "X: y\r\n", "x:\r\n",
	"X-HTTP-Method-Override: PUT\r\n", "Pragma: no-cache\r\n", "Proxy-Connection: close\r\n", "Transfer_Encoding: chunked\r\n", "GET ", "POST ", "OPTIONS ",
	"CONNECT ", "http://", "HTTPS://", "example.com", "a.b:81", "%2e", "%2F", "%20", "%c3%a4", "..", "//", "?", "*", " HTTP/1.1\r\n", " HTTP/1.0\r\n",
	"HTTP/1.1 ", "HTTP/1.0 ", "200 OK\r\n", "204 x\r\n", "304 x\r\n", "101 x\r\n", "100 x\r\n", "0\r\n", "5\r\nhello\r\n", "1\r\n", ";x=\"y\"", "00000", "GET / HTTP/1.1\r\n"}

// spell writes the words out.
func spell(in []byte) (out []byte) {
	for _, c := range in {
		if c < 0x80 {
			out = append(out, c)
		} else {
			out = append(out, words[int(c-0x80)%len(words)]...)
		}
	}
	return out
}

// Heads that are put together from words reach further than mutated bytes do.
func TestRandomHeads(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	requests, responses := 0, 0
	pick := func(from ...string) string { return from[dice.IntN(len(from))] }
	for range 6000 {
		head := ""
		for range dice.IntN(6) {
			if w := words[dice.IntN(len(words))]; strings.HasSuffix(w, "\r\n") && (strings.Contains(w, ":") || dice.IntN(50) == 0) {
				head += w
			}
		}
		b := []byte(pick("GET", "POST", "HEAD", "OPTIONS") + " " + pick("/", "/a%20b?c", "*", "http://example.com:80/a/../b", "//x", "/%c3%a4/", "/%2e./x") +
			pick(" HTTP/1.1\r\n", " HTTP/1.1\r\n", " HTTP/1.0\r\n") + pick("Host: example.com\r\n", "hOST:a.b.:81\r\n", "Host: [2001:DB8::1]\r\n", "") + head + "\r\n")
		if r, err := parseRequest(b); err == nil && r != nil {
			requests++
		}
		checkRequest(t, b)
		b, kind := []byte(pick("HTTP/1.1 ", "HTTP/1.1 ", "HTTP/1.0 ")+pick("200 OK\r\n", "204 \r\n", "304\r\n", "101 x\r\n", "100 x\r\n", "500 x y\r\n")+head+"\r\n"), byte(dice.IntN(16))
		if r, err := parseResponse(b, &Request{Method: "GET", Version: http11, Upgrade: kind&1 != 0}); err == nil && r != nil {
			responses++
		}
		checkResponse(t, b, kind)
	}
	if requests < 600 || responses < 600 {
		t.Errorf("only %d requests and %d responses were heads at all", requests, responses)
	}
}
