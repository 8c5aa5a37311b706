package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxBatch is the maximum number of messages that a client of an old version may send in one line.
const maxBatch = 100

// lines filters a client's stream for the SDK, which ends the session at the first line that is not a message. lines
// answers such a line with an error without an id (JSON-RPC 2.0, section 5), and continues with the next one.
type lines struct {
	in  *bufio.Reader
	end io.Closer
	out io.Writer
	max int // bytes of a line, without its end
	// batches reports whether the client speaks a version that has them.
	batches func() bool
	flying  *flight
	ready   []byte // has been looked at, and is for the SDK
}

func newLines(in io.ReadCloser, out io.Writer, most int, batches func() bool, flying *flight) *lines {
	return &lines{in: bufio.NewReaderSize(in, 32<<10), end: in, out: out, max: most, batches: batches, flying: flying}
}

// Read returns to the SDK the lines that are messages.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.ready) == 0 {
		line, err := l.line()
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if wrong := l.look(line); wrong != nil {
			return 0, wrong
		}
		if err != nil && len(l.ready) == 0 {
			return 0, err
		}
	}
	n := copy(p, l.ready)
	l.ready = l.ready[n:]
	return n, nil
}

// Close closes the client's stream.
func (l *lines) Close() error { return l.end.Close() }

// line returns the next line, without its end. A line that is too long is answered with an error and skipped; at most
// the maximum is kept in memory.
func (l *lines) line() (line []byte, err error) {
	long := false
	for {
		part, err := l.in.ReadSlice('\n') // at most a buffer
		if !long {
			line = append(line, part...)
			if len(bytes.TrimRight(line, "\r\n")) > l.max {
				long, line = true, nil
				if wrong := l.answer(jsonrpc.CodeInvalidRequest,
					fmt.Sprintf("the message has more than %d bytes: send less, or a file in parts", l.max)); wrong != nil {
					return nil, wrong
				}
			}
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(line), err
		}
	}
}

// look queues a line that is a message for the SDK, and answers any other line with an error.
func (l *lines) look(line []byte) error {
	switch {
	case len(line) == 0:
		return nil
	case !json.Valid(line):
		return l.answer(jsonrpc.CodeParseError, "this line is no JSON text: send one message on each line")
	case line[0] != '[':
		return l.message(line)
	case !l.batches():
		return l.answer(jsonrpc.CodeInvalidRequest,
			"this version of the protocol has no batches: send one message on each line")
	}
	// The SDK does not answer a batch that contains a notification, and ends the session if an id occurs twice.
	// Therefore the messages of a batch are passed on, and answered, one by one.
	list := json.NewDecoder(bytes.NewReader(line))
	if _, err := list.Token(); err != nil {
		return err
	}
	var batch []json.RawMessage
	for list.More() && len(batch) <= maxBatch {
		var one json.RawMessage
		if err := list.Decode(&one); err != nil {
			return err
		}
		batch = append(batch, one)
	}
	if len(batch) == 0 || len(batch) > maxBatch {
		return l.answer(jsonrpc.CodeInvalidRequest, fmt.Sprintf("a batch has 1 to %d messages", maxBatch))
	}
	for _, one := range batch {
		if err := l.message(one); err != nil {
			return err
		}
	}
	return nil
}

func (l *lines) message(text []byte) error {
	if _, err := jsonrpc.DecodeMessage(text); err != nil {
		return l.answer(jsonrpc.CodeInvalidRequest,
			`this is no message of JSON-RPC: it has "jsonrpc":"2.0", a method that is a string, `+
				`and an id that is a string or a number if it is to be answered`)
	}
	e, wrong := parseEnvelope(text)
	if wrong == "" && !l.flying.begin(e) {
		wrong = "a request with its id is still being answered: give each its own"
	}
	if wrong != "" {
		return l.answer(jsonrpc.CodeInvalidRequest, "this is no message that all would read alike: "+wrong)
	}
	l.ready = append(append(l.ready, text...), '\n')
	return nil
}

func (l *lines) answer(code int, message string) error {
	_, err := fmt.Fprintf(l.out, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%s}}`+"\n", code,
		quoted(message))
	return err
}

func quoted(s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		return []byte(`""`) // unreachable: every string has a JSON form
	}
	return text
}

// oneByOne serializes the writes of the SDK and of lines to one client: each message is one call of Write.
type oneByOne struct {
	mu     sync.Mutex
	w      io.Writer
	flying *flight
}

// Write implements io.Writer.
func (o *oneByOne) Write(p []byte) (int, error) {
	o.flying.end(p) // first, since the client may reuse the id after the write
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}
