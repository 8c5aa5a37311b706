package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// members are the member names of JSON-RPC 2.0 objects (sections 4 and 5).
var members = []string{"jsonrpc", "id", "method", "params", "result", "error"}

// maxID is the largest number allowed as an id: a parser that stores numbers as floats represents integers up to it
// exactly.
const maxID = 1 << 53

// envelope is the id of a message, and whether the message is a call, which needs an answer.
type envelope struct {
	id   string
	call bool
}

// parseEnvelope parses the envelope of a JSON object. wrong names a part that parsers interpret differently, or is "".
// The SDK, for example, accepts "METHOD" for method and the last of two members with one name, and rounds the id
// 9007199254740993.
func parseEnvelope(text []byte) (e envelope, wrong string) {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return e, "it is no object"
	}
	seen := map[string]json.RawMessage{}
	for d.More() {
		key, err := d.Token()
		name, ok := key.(string)
		if err != nil || !ok {
			return e, "it is no object"
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return e, "it is no JSON text"
		}
		i := slices.IndexFunc(members, func(m string) bool { return strings.EqualFold(m, name) })
		if i >= 0 && members[i] != name {
			return e, fmt.Sprintf("%q is not %q: write it in small letters", name, members[i])
		}
		if _, twice := seen[name]; twice {
			return e, fmt.Sprintf("%q is there twice", name)
		}
		seen[name] = value
	}
	id, has := seen["id"]
	_, e.call = seen["method"]
	if e.call = e.call && has; has && !goodID(id, e.call) {
		return e, fmt.Sprintf("its id is neither a text nor an integer up to %d", int64(maxID))
	}
	e.id = canonical(id)
	return e, ""
}

// canonical returns one form for all spellings of an id.
func canonical(id json.RawMessage) string {
	var text string
	if json.Unmarshal(id, &text) == nil {
		return strconv.Quote(text)
	}
	return string(id)
}

// goodID reports whether all parsers interpret an id in the same way. null is valid only in the answer to a message
// without an id.
func goodID(id json.RawMessage, call bool) bool {
	if id[0] == '"' {
		return true
	}
	if string(id) == "null" {
		return !call
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && -maxID <= n && n <= maxID && strconv.FormatInt(n, 10) == string(id)
}

// answered returns the id of an answer that the SDK writes, or "" for another message.
func answered(text []byte) string {
	var m struct {
		ID, Method json.RawMessage
	}
	if json.Unmarshal(text, &m) != nil || m.Method != nil {
		return ""
	}
	return canonical(m.ID)
}

// flight holds the ids of a stream's requests that are being answered. The SDK would not answer a second request with
// the same id.
type flight struct {
	mu  sync.Mutex
	ids map[string]bool
}

// begin adds a request. It returns false if a request with the same id is being answered.
func (f *flight) begin(e envelope) bool {
	if !e.call {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ids[e.id] {
		return false
	}
	f.ids[e.id] = true
	return true
}

// end removes the request that a message answers.
func (f *flight) end(text []byte) {
	id := answered(text)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.ids, id)
}
