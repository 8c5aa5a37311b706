package wire

import (
	"bufio"
	"strconv"
	"strings"

	"brig/netns/egress/policy"
)

// Response is a response's head.
type Response struct {
	Status  int
	Interim bool // 1xx other than 101: forward Head and read the next head; bound their number
	Upgrade bool // 101 as the request asked for: relay bytes from here on
	Close   bool // the connection ends after the body, as Head announces
	Body    Framing
	Head    []byte // canonical: what to send to the client; empty for an Interim to an HTTP/1.0 client
}

// ReadResponse reads the head of a response to req as ReadRequest does. It uses the fields Method, Version,
// Upgrade and Close of req. A response without a certain end closes the connection.
func ReadResponse(br *bufio.Reader, req *Request) (*Response, error) {
	h, err := readHead(br, maxHead)
	if err != nil {
		return nil, err
	}
	version, reason, r, err := statusLine(h.first)
	if err != nil {
		return nil, err
	}
	if r.Body, err = h.framing(version, UntilClose); err != nil {
		return nil, err
	}
	r.Interim = r.Status < 200 && r.Status != 101
	if r.Upgrade = r.Status == 101; r.Upgrade && (!req.Upgrade || !h.websocket() || version != http11) {
		return nil, refuse(policy.ReasonProtocol, "a switch of protocols that was not asked for")
	}
	r.Close = req.Close || version == http10 || h.option("close")
	declared := r.Body // the framing that Head announces, if it differs from the server's
	switch {
	case r.Status < 200 || r.Status == 204:
		if r.Body.Kind == Chunked || r.Body.Kind == Length && r.Body.Length > 0 { // a client may wait for a body
			r.Close = true
		}
		r.Body, declared = Framing{}, Framing{}
	case req.Method == "HEAD" || r.Status == 304:
		r.Body = Framing{}
	case r.Body.Kind == UntilClose:
		r.Close = true
	case r.Body.Kind == Chunked && req.Version == http10:
		return nil, refuse(policy.ReasonProtocol, "a chunked response to an HTTP/1.0 request")
	}
	if r.Interim && req.Version == http10 {
		return r, nil
	}
	first := http11 + " " + strconv.Itoa(r.Status) + " " + reason
	r.Head = h.emit([]string{first}, declared, connection(r.Upgrade, r.Close && !r.Interim))
	return r, nil
}

// statusLine parses "HTTP/1.1 200 OK"; the reason, and the space before it, may be missing.
func statusLine(line string) (version, reason string, r *Response, err error) {
	version, rest, ok := strings.Cut(line, " ")
	if !ok || version != http11 && version != http10 {
		return "", "", nil, refuse(policy.ReasonNotHTTP, "the first line of the response is not HTTP/1.1 STATUS")
	}
	code, reason, _ := strings.Cut(rest, " ")
	n, ok := decimal(code)
	if !ok || len(code) != 3 || n < 100 {
		return "", "", nil, refuse(policy.ReasonNotHTTP, "a malformed status in the response")
	}
	return version, reason, &Response{Status: int(n)}, nil
}
