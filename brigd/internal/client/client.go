// Package client asks a running brigd: at its Unix socket, or at a URL.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"brig/brigd/internal/listen"
	"brig/brigd/job"
	"brig/internal/words"
)

// Flags are the names of the flags of AddFlags.
const Flags = "socket url"

// FlagsUsage is the help for them.
const FlagsUsage = `  --socket PATH   brigd's socket ($BRIGD_SOCKET); its default one, or else /run/brigd/brigd.sock
  --url URL       instead https://HOST:PORT, or http:// on this machine ($BRIGD_URL)

$BRIGD_TOKEN, a token or an API key, is sent if it is set. It is never an argument, which others could read.
`

// tokenVar names the variable with a token.
const tokenVar = "BRIGD_TOKEN"

// Client is a connection to a brigd. The zero Client is one to the default socket.
type Client struct {
	url    string
	dialer listen.Dialer
	http   http.Transport
}

// AddFlags adds the flags that say where brigd is.
func (c *Client) AddFlags(f *flag.FlagSet) {
	f.StringVar(&c.dialer.Path, "socket", "", "")
	f.StringVar(&c.url, "url", "", "")
}

// Connect decides where brigd is. It does not connect yet.
func (c *Client) Connect() error {
	if c.url != "" && c.dialer.Path != "" {
		return errors.New("--socket and --url name two servers; leave one out")
	}
	if c.url == "" && c.dialer.Path == "" {
		c.url, c.dialer.Path = os.Getenv("BRIGD_URL"), os.Getenv("BRIGD_SOCKET")
	}
	if path, ok := strings.CutPrefix(c.url, "unix:"); ok {
		c.url, c.dialer.Path = "", "/"+strings.TrimLeft(path, "/")
	}
	c.http.MaxIdleConnsPerHost, c.http.DisableCompression = 1024, true
	if c.url == "" {
		c.url = "http://brigd"
		c.http.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dialer.Dial(ctx) }
		return nil
	}
	u, err := url.Parse(c.url)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil ||
		strings.Trim(u.Path, "/")+u.RawQuery+u.Fragment != "" {
		return fmt.Errorf("--url: %s is no address of a brigd; write it as in https://HOST:PORT", words.Quote(c.url))
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) {
		return errors.New("--url: http:// would show the token to the network; use https://")
	}
	c.url = u.Scheme + "://" + u.Host
	return nil
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// Do sends a request. A refusal is a *job.Refusal, and after is when to ask again, or 0. The caller closes the body of
// an answer.
func (c *Client) Do(ctx context.Context, method, path string, body io.Reader, header ...string) (w *http.Response,
	after time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, body)
	if err != nil {
		return nil, 0, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if w, err = c.RoundTrip(r); err != nil {
		return nil, time.Second, err
	}
	if w.StatusCode < 300 {
		return w, 0, nil
	}
	defer w.Body.Close()
	no := &job.Refusal{Message: w.Status, Layer: "request"}
	text, err := io.ReadAll(io.LimitReader(w.Body, 1<<20))
	if err != nil {
		return nil, time.Second, err
	}
	_ = json.Unmarshal(text, no) // without JSON, the refusal has the status only
	if seconds, err := strconv.Atoi(w.Header.Get("Retry-After")); err == nil {
		after = time.Duration(seconds) * time.Second
	}
	return nil, after, no
}

// RoundTrip sends a request to brigd, whatever its URL names, with the caller's token.
func (c *Client) RoundTrip(r *http.Request) (*http.Response, error) {
	at, err := url.Parse(c.url)
	if err != nil {
		return nil, err
	}
	r.URL.Scheme, r.URL.Host, r.Host = at.Scheme, at.Host, at.Host
	if bearer := os.Getenv(tokenVar); bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	w, err := c.http.RoundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("brigd does not answer: %w", c.explain(r.Context(), err))
	}
	return w, nil
}

func (c *Client) explain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil || c.url != "http://brigd" {
		return cmp.Or(cause, err)
	}
	return c.dialer.Explain(err)
}

// JSON is the media type of requests and of most answers.
const JSON = "application/json"

// Call sends a request with a body of JSON, or with none if it is nil, and decodes the JSON answer into out, if that is
// not nil.
func (c *Client) Call(ctx context.Context, method, path string, body []byte, out any, header ...string) (
	after time.Duration, err error) {
	if body != nil {
		header = append(header, "Content-Type", JSON)
	}
	w, after, err := c.Do(ctx, method, path, bytes.NewReader(body), header...)
	if err != nil {
		return after, err
	}
	defer w.Body.Close()
	text, err := io.ReadAll(w.Body)
	switch {
	case err != nil:
		return time.Second, err
	case out == nil:
		return 0, nil
	}
	return 0, json.Unmarshal(text, out)
}
