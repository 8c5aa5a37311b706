package api

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"brig/cmd/brigd/internal/body"
	"brig/cmd/brigd/internal/schema"
)

// mediaType refuses a body of another type, which excludes those that a browser's form can send for a foreign page. It
// also refuses a compressed body, whose expanded size is unknown.
func (c *call) mediaType(want string) error {
	values := c.r.Header.Values("Content-Type")
	if len(values) == 1 {
		got, params, err := mime.ParseMediaType(values[0])
		charset := strings.ToLower(params["charset"])
		if err == nil && got == want && (charset == "" || charset == "utf-8") {
			return c.plain()
		}
	}
	return no("request", "unsupported_media_type", "Content-Type", "the body is not marked as "+want,
		"send Content-Type: "+want)
}

func (c *call) plain() error {
	if e := c.r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return no("request", "unsupported_media_type", "Content-Encoding", "bodies are not taken compressed",
			"send the body as it is")
	}
	return nil
}

// body decodes the request's JSON into the value that v points to.
func (c *call) body(v any) error {
	if c.route.bare && c.r.ContentLength == 0 {
		c.taken = true
		return nil
	}
	if err := c.mediaType("application/json"); err != nil {
		return err
	}
	text, err := c.read()
	if err != nil {
		return err
	}
	return schema.Decode(text, v)
}

// tooLarge returns the refusal of a body of more than most bytes.
func (c *call) tooLarge(most int64) error {
	c.w.Header().Set("Connection", "close")
	return no("request", "body_too_large", "body", fmt.Sprintf("the body has more than %d bytes", most),
		"send less, or put files into a sandbox one by one")
}

// read reads the whole body, within its size, its time and the memory budget of all requests.
func (c *call) read() (text []byte, err error) {
	text, c.release, err = c.bodies.Read(c.caller.Key(), c.r, c.ctl, body.Limits{Most: c.MaxBody, Time: c.BodyTime})
	defer c.readTime(0)
	switch {
	case errors.Is(err, body.ErrTooLarge):
		return nil, c.tooLarge(c.MaxBody)
	case errors.Is(err, body.ErrNoBudget):
		c.w.Header().Set("Connection", "close")
		return nil, soon{no("queue", "body_budget", "body", err.Error(), "send the same request again in a second")}
	case err != nil:
		return nil, c.readFailed(err)
	}
	c.taken = true
	return text, nil
}

// readTime sets the deadline for the client's next bytes. 0 means none: after the body, net/http reads on to detect
// that the client closes the connection.
func (c *call) readTime(d time.Duration) {
	var t time.Time
	if d > 0 {
		t = time.Now().Add(d)
	}
	if err := c.ctl.SetReadDeadline(t); err != nil && !errors.Is(err, http.ErrNotSupported) {
		c.failed = err
	}
}

// readFailed returns the refusal for a body that did not arrive.
func (c *call) readFailed(err error) error {
	c.w.Header().Set("Connection", "close")
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return no("request", "body_timeout", "body", "the body took too long to arrive",
			"send it faster, or in smaller requests")
	}
	return no("request", "body_broken", "body", "the body ended before its announced end, or is not framed as HTTP says",
		"send the request again")
}
