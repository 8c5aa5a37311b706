package rig

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// quiet is the log of servers that tests attack: none.
var quiet = log.New(io.Discard, "", 0)

// Serve adds a handler, as http.ServeMux does, to the sites of W.
func (r *Rig) Serve(pattern string, h http.Handler) { r.sites.Handle(pattern, h) }

// pages returns what every site of W has.
func pages() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, q *http.Request) { echoHTTP(w, q, true) })
	mux.HandleFunc("/status/{code}", func(w http.ResponseWriter, q *http.Request) {
		code, err := strconv.Atoi(q.PathValue("code"))
		if err != nil || code < 200 || code > 599 {
			code = http.StatusBadRequest
		}
		w.WriteHeader(code)
	})
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, q *http.Request) {
		http.Redirect(w, q, "http://evil.example/redirected", http.StatusFound)
	})
	mux.HandleFunc("/bytes/{n}", func(w http.ResponseWriter, q *http.Request) {
		n, _ := strconv.ParseInt(q.PathValue("n"), 10, 64)
		w.Header().Set("Content-Length", strconv.FormatInt(max(n, 0), 10))
		_, _ = io.CopyN(w, zeros{}, max(n, 0)) // a client may leave early
	})
	mux.HandleFunc("/sink", func(w http.ResponseWriter, q *http.Request) {
		n, err := io.Copy(io.Discard, q.Body)
		fmt.Fprintln(w, n, "bytes", err)
	})
	mux.HandleFunc("/upgrade", upgrade)
	mux.HandleFunc("/drip", func(w http.ResponseWriter, q *http.Request) {
		for range 20 {
			fmt.Fprintln(w, "drip")
			w.(http.Flusher).Flush()
			time.Sleep(50 * time.Millisecond)
		}
	})
	return mux
}

// handler returns the handler of every site of W.
func (r *Rig) handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		local := q.Context().Value(http.LocalAddrContextKey).(net.Addr)
		good := goodAddress(local) && r.good(q.Host) && !forbidden(q)
		r.Visits.add(Visit{Kind: "http", At: local.String(), What: q.Method + " " + q.URL.String() + " Host: " + q.Host,
			Evil: !good})
		if !good {
			echoHTTP(w, q, false)
			return
		}
		q.Host = strings.TrimSuffix(q.Host, ":8080")
		r.sites.ServeHTTP(w, q)
	})
}

// upgrade answers 101 and then echoes what it receives.
func upgrade(w http.ResponseWriter, _ *http.Request) {
	h, ok := w.(http.Hijacker)
	if !ok {
		http.Error(w, "HTTP/2 has no upgrades", http.StatusBadRequest)
		return
	}
	c, buffered, err := h.Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	const upgrade = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
	if _, err := io.WriteString(c, upgrade); err == nil {
		_, _ = io.Copy(c, buffered)
	}
}

// forbidden reports whether no rule of the suite allows a request anywhere.
func forbidden(q *http.Request) bool {
	return q.Method == http.MethodDelete || q.Method == http.MethodConnect || strings.HasPrefix(path.Clean("/"+q.URL.Path),
		"/private")
}

// echoHTTP answers with the site's word and the request itself.
func echoHTTP(w http.ResponseWriter, q *http.Request, good bool) {
	dump, err := httputil.DumpRequest(q, true)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("X-Site", word(good))
	fmt.Fprintf(w, "%s site %s at %s\n%s", word(good), q.Host, q.Context().Value(http.LocalAddrContextKey), dump)
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// serveHost starts the servers of H, which a jail must not reach.
func (r *Rig) serveHost() error {
	secret := func(c net.Conn) {
		defer c.Close()
		r.Visits.add(Visit{Kind: "secret", At: c.LocalAddr().String(), Evil: true})
		_, _ = io.WriteString(c, "HTTP/1.0 200 OK\r\nContent-Length: 7\r\n\r\nSECRET\n")
	}
	for _, port := range []string{"80", "443", "17000", "6379"} {
		if err := r.listen(port, func(l net.Listener) { accept(l, secret) }); err != nil {
			return err
		}
	}
	return nil
}

// Visit is one connection, request or query that a server has seen.
type Visit struct {
	Kind string // tcp, udp, tls, http, dns; secret for a server of H
	At   string // the address and port that were reached
	What string // the site, the server name, the request line and Host, the question
	Evil bool   // no policy of the suite allows it
}

// String returns a text for a test's message.
func (v Visit) String() string {
	return fmt.Sprintf("%s at %s: %.200q (evil: %v)", v.Kind, v.At, v.What, v.Evil)
}

// Visits is the record of all servers. Safe for concurrent use.
type Visits struct {
	mu   sync.Mutex
	list []Visit
	raw  []string
}

func (v *Visits) add(visit Visit) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.list = append(v.list, visit)
}

// addRaw records the first bytes of a connection.
func (v *Visits) addRaw(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.raw = append(v.raw, text)
}

// Take returns the visits since the last Take, and forgets them.
func (v *Visits) Take() []Visit {
	v.mu.Lock()
	defer v.mu.Unlock()
	list := v.list
	v.list, v.raw = nil, nil
	return list
}

// rawHas reports whether a plain connection since the last Take has sent text, in any case.
func (v *Visits) rawHas(text string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	text = strings.ToLower(text)
	return slices.ContainsFunc(v.raw, func(raw string) bool { return strings.Contains(strings.ToLower(raw), text) })
}
