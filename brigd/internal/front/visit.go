package front

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"runtime/debug"
	"strconv"
	"time"

	"brig/brigd/engine"
)

// ID is the form of the ids of sandboxes, runs and requests.
var ID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)

// Visit is one HTTP request in progress. It writes the answer, with a time limit for each piece.
type Visit struct {
	http.ResponseWriter
	R       *http.Request
	Control *http.ResponseController
	Caller  engine.Caller
	Taken   bool // the whole body has been read

	// for the log
	Route, Run string
	Level      slog.Level
	Failed     error

	face         *Face
	release      func() // returns the memory of the body to the budget
	unauthorized bool
	id, code     string
	status       int
	wrote        bool
}

// statusGone is logged if the client has disconnected.
const statusGone = 499

// Serve answers one request by answer, or with the error that answer returns, and writes a log line.
func (f *Face) Serve(w http.ResponseWriter, r *http.Request, answer func(*Visit) error) {
	r, end := f.Trace(r)
	v := &Visit{ResponseWriter: w, R: r, Control: http.NewResponseController(w), face: f, release: func() {},
		id: r.Header.Get("X-Request-Id"), status: statusGone}
	if !ID.MatchString(v.id) {
		v.id = rand.Text()
	}
	w.Header().Set("X-Request-Id", v.id)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	defer func() { end(v.status) }()
	defer v.log(time.Now())
	v.writeTime(0)                 // removes that of the previous request on the connection
	defer v.writeTime(f.WriteTime) // for buffered data; the next request on the connection sets a new one
	defer v.recovered()
	if err := answer(v); err != nil {
		v.fail(err)
	}
}

// recovered limits a panic in a handler to one request.
func (v *Visit) recovered() {
	v.release()
	p := recover()
	if p == nil {
		return
	}
	if e, ok := p.(error); ok && errors.Is(e, http.ErrAbortHandler) {
		v.status = statusGone
		panic(http.ErrAbortHandler)
	}
	began := v.wrote
	v.fail(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
	if began {
		panic(http.ErrAbortHandler) // the client must not take what it has for the whole answer
	}
}

// log writes one line for a request. Text chosen by the client is only in values, which slog's handlers quote.
func (v *Visit) log(start time.Time) {
	attrs := []slog.Attr{slog.String("request", v.id), slog.String("method", v.R.Method), slog.String("route", v.Route),
		slog.Int("status", v.status), slog.Duration("took", time.Since(start)), slog.String("agent", v.Caller.Name())}
	if v.Run != "" {
		attrs = append(attrs, slog.String("run", v.Run))
	}
	if v.code != "" {
		attrs = append(attrs, slog.String("code", v.code))
	}
	if v.Failed != nil {
		attrs = append(attrs, slog.String("error", v.Failed.Error()))
		if v.status >= 500 {
			v.Level = slog.LevelError
		}
	}
	v.face.Logger.LogAttrs(v.R.Context(), v.Level, "request", attrs...)
}

// Gone records that the client does not get the rest of its answer.
func (v *Visit) Gone(why error) { v.status, v.Failed = statusGone, why }

// Wrote reports whether the answer has begun.
func (v *Visit) Wrote() bool { return v.wrote }

// Unread reports whether a part of the body has not been read.
func (v *Visit) Unread() bool { return v.R.ContentLength != 0 && !v.Taken }

// WriteHeader starts the answer. The unread part of the body, which net/http reads in order to reuse the connection,
// has one second to arrive.
func (v *Visit) WriteHeader(status int) {
	if !v.wrote && status >= 200 {
		v.status, v.wrote = status, true
		if v.Unread() {
			v.ReadTime(min(time.Second, v.face.BodyTime))
		}
	}
	v.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (v *Visit) Write(p []byte) (int, error) {
	if !v.wrote {
		v.WriteHeader(http.StatusOK)
	}
	v.writeTime(v.face.WriteTime)
	defer v.writeTime(0)
	return v.ResponseWriter.Write(p)
}

// FlushError supports http.ResponseController.
func (v *Visit) FlushError() error {
	if !v.wrote {
		v.WriteHeader(http.StatusOK)
	}
	v.writeTime(v.face.WriteTime)
	defer v.writeTime(0)
	return v.Control.Flush()
}

// Hijack supports http.ResponseController: the connection is no longer HTTP's.
func (v *Visit) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := v.Control.Hijack()
	if err == nil {
		v.status, v.wrote = http.StatusSwitchingProtocols, true
	}
	return conn, rw, err
}

// Unwrap supports http.ResponseController.
func (v *Visit) Unwrap() http.ResponseWriter { return v.ResponseWriter }

// writeTime sets the deadline for the client to read what is written; 0 means none. It fails only on a closed
// connection, and if there is no connection.
func (v *Visit) writeTime(d time.Duration) { _ = v.Control.SetWriteDeadline(deadline(d)) }

// ReadTime sets the deadline for the client's next bytes in the same way. After the body, net/http reads on to detect
// that the client closes the connection.
func (v *Visit) ReadTime(d time.Duration) { _ = v.Control.SetReadDeadline(deadline(d)) }

func deadline(d time.Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return time.Now().Add(d)
}

// Answer writes JSON.
func (v *Visit) Answer(status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		v.Failed, status, v.code = err, http.StatusInternalServerError, "internal"
		text = []byte(`{"error":"brigd could not write its answer as JSON","code":"internal","layer":"jail"}`)
	}
	v.Header().Set("Content-Type", "application/json")
	v.Header().Set("Content-Length", strconv.Itoa(len(text)+1))
	v.WriteHeader(status)
	_, err = v.Write(append(text, '\n'))
	v.Failed = cmp.Or(v.Failed, err)
}
