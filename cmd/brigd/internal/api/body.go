package api

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"brig/cmd/brigd/internal/schema"
)

// budget is the memory that all bodies share, in bytes.
type budget struct{ free atomic.Int64 }

func (b *budget) take(n int64) bool {
	if b.free.Add(-n) < 0 {
		b.free.Add(n)
		return false
	}
	return true
}

func (b *budget) give(n int64) { b.free.Add(n) }

// mediaType refuses a body of another type, also what a browser's form can send for a foreign page; or one that is
// compressed, since a small one could become anything.
func (c *call) mediaType(want string) error {
	values := c.r.Header.Values("Content-Type")
	if len(values) == 1 {
		got, params, err := mime.ParseMediaType(values[0])
		charset := strings.ToLower(params["charset"])
		if err == nil && got == want && (charset == "" || charset == "utf-8") {
			return c.plain()
		}
	}
	return no("request", "unsupported_media_type", "Content-Type", "the body is not marked as "+want, "send Content-Type: "+want)
}

func (c *call) plain() error {
	if e := c.r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return no("request", "unsupported_media_type", "Content-Encoding", "bodies are not taken compressed", "send the body as it is")
	}
	return nil
}

// body reads the request's JSON into what v points to.
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
	return schema.Decode(text, v, schema.Limits{})
}

// tooLarge is about a body of more than so many bytes.
func (c *call) tooLarge(most int64) error {
	c.w.Header().Set("Connection", "close")
	return no("request", "body_too_large", "body", fmt.Sprintf("the body has more than %d bytes", most), "send less, or put files into a sandbox one by one")
}

// read takes the whole body, within its size, its time and the budget that all requests share.
func (c *call) read() ([]byte, error) {
	if c.r.ContentLength > c.MaxBody {
		return nil, c.tooLarge(c.MaxBody)
	}
	done := c.readTime(c.BodyTime)
	defer done()
	var text []byte
	if n := c.r.ContentLength; n > 0 {
		if !c.hold(n) {
			return nil, c.noBudget()
		}
		text = make([]byte, 0, n+1)
	}
	for {
		if len(text) == cap(text) {
			if !c.hold(int64(max(cap(text), 4096))) {
				return nil, c.noBudget()
			}
			text = append(make([]byte, 0, 2*max(cap(text), 4096)), text...)
		}
		n, err := c.r.Body.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		switch {
		case int64(len(text)) > c.MaxBody:
			return nil, c.tooLarge(c.MaxBody)
		case err == io.EOF:
			c.taken = true
			return text, nil
		case err != nil:
			return nil, c.readFailed(err)
		}
	}
}

func (c *call) hold(n int64) bool {
	if !c.budget.take(n) {
		return false
	}
	c.held += n
	return true
}

func (c *call) noBudget() error {
	c.w.Header().Set("Connection", "close")
	return soon{no("queue", "body_budget", "body", "the bodies of all requests together take as much memory as they may", "send the same request again in a second")}
}

// readTime gives the client so long for its body; done ends that, since the connection is watched for its end afterwards.
func (c *call) readTime(d time.Duration) (done func()) {
	set := func(t time.Time) {
		if err := c.ctl.SetReadDeadline(t); err != nil && !errors.Is(err, http.ErrNotSupported) {
			c.failed = err
		}
	}
	set(time.Now().Add(d))
	return func() { set(time.Time{}) }
}

// readFailed says why a body did not arrive.
func (c *call) readFailed(err error) error {
	c.w.Header().Set("Connection", "close")
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return no("request", "body_timeout", "body", "the body took too long to arrive", "send it faster, or in smaller requests")
	}
	return no("request", "body_broken", "body", "the body ended before its announced end, or is not framed as HTTP says", "send the request again")
}
