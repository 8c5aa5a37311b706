package token

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"brig/internal/strictjson"
)

// Bounds of a token.
const (
	// MaxText is the maximum length of a token's text in bytes.
	MaxText = 16 << 10
	// MaxBlocks is the maximum number of blocks in a token.
	MaxBlocks = 16
	// MaxAgent and MaxNote are the maximum lengths of an agent's name and a note in bytes.
	MaxAgent, MaxNote = 64, 256
	// MaxRuns is the largest possible value of Block.Runs.
	MaxRuns = 1 << 40
)

// Block is the content of one block of a token. Each field restricts what the token allows. The zero Block restricts
// nothing, but has its own id, which can be revoked.
type Block struct {
	// Agent is the agent for which the holder acts: letters, digits and, except at the beginning, any of ._:@- . At most
	// one block of a token may name an agent. Without one, the holder may act for any agent.
	Agent string `json:"agent,omitempty"`
	// Issued is when the block was made. Mint and Attenuate set it. It is not checked.
	Issued time.Time `json:"issued,omitzero"`
	// Expires is when the token ends, and NotBefore when it begins. Both have a resolution of one second. The zero time
	// means no limit.
	Expires   time.Time `json:"expires,omitzero"`
	NotBefore time.Time `json:"not_before,omitzero"`
	// Runs limits the number of runs of all holders of the block together; 0 means no limit.
	Runs int64 `json:"runs,omitempty"`
	// Policy is a policy of brig as a JSON object, or empty. This package does not interpret it.
	Policy json.RawMessage `json:"policy,omitempty"`
	// Note is a comment, such as the recipient and the purpose.
	Note string `json:"note,omitempty"`
}

// content is the signed form of a Block.
type content struct {
	Agent     string          `json:"agent,omitempty"`
	Expires   int64           `json:"expires,omitempty"` // seconds since 1970
	Issued    int64           `json:"issued,omitempty"`
	NotBefore int64           `json:"not_before,omitempty"`
	Note      string          `json:"note,omitempty"`
	Policy    json.RawMessage `json:"policy,omitempty"`
	Runs      int64           `json:"runs,omitempty"`
}

// maxTime is the last second of the year 9999, the last year that RFC 3339 can represent.
const maxTime = 253402300799

// encode returns the canonical form of a block's content, or an error if a field is invalid.
func (b *Block) encode() ([]byte, error) {
	c := content{Agent: b.Agent, Expires: seconds(b.Expires), Issued: seconds(b.Issued), NotBefore: seconds(b.NotBefore),
		Note: b.Note, Policy: b.Policy, Runs: b.Runs}
	if err := c.check(); err != nil {
		return nil, err
	}
	return c.bytes()
}

func (c *content) bytes() ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(c); err != nil { // also compacts the policy
		return nil, fmt.Errorf("policy: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// decode parses a block's content. It accepts only the canonical form.
func decode(data []byte) (b Block, err error) {
	var c content
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return b, errors.New("its content is not the JSON of a block that this brig knows")
	}
	if err := c.check(); err != nil {
		return b, err
	}
	if again, err := c.bytes(); err != nil || !bytes.Equal(again, data) {
		return b, errors.New("its content is not in the canonical form")
	}
	return Block{Agent: c.Agent, Expires: instant(c.Expires), Issued: instant(c.Issued), NotBefore: instant(c.NotBefore),
		Note: c.Note, Policy: c.Policy, Runs: c.Runs}, nil
}

func (c *content) check() error {
	switch {
	case len(c.Agent) > MaxAgent || strings.ContainsFunc(c.Agent, notInAgent) || strings.IndexAny(c.Agent, "._:@-") == 0:
		return fmt.Errorf("agent: at most %d letters, digits and, but for the first, any of ._:@-", MaxAgent)
	case len(c.Note) > MaxNote || !utf8.ValidString(c.Note) || strings.ContainsFunc(c.Note, notPrintable):
		return fmt.Errorf("note: at most %d bytes of printable text", MaxNote)
	case c.Runs < 0 || c.Runs > MaxRuns:
		return fmt.Errorf("runs: 1 to %d, or 0 for no limit", int64(MaxRuns))
	}
	for _, t := range []int64{c.Expires, c.Issued, c.NotBefore} {
		if t < 0 || t > maxTime {
			return errors.New("expires, not_before, issued: a time from 1970 to 9999")
		}
	}
	if len(c.Policy) == 0 {
		return nil
	}
	err := strictjson.Scan(c.Policy)
	switch {
	case err != nil && err.Code == strictjson.Duplicate:
		return errors.New("policy: a field that is there twice; two readers could take it differently")
	case err != nil || !bytes.HasPrefix(bytes.TrimLeft(c.Policy, " \t\r\n"), []byte("{")):
		return errors.New("policy: a JSON object in UTF-8")
	}
	return nil
}

func notInAgent(r rune) bool {
	letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	return !letter && !strings.ContainsRune("._:@-", r)
}

func notPrintable(r rune) bool { return !unicode.IsPrint(r) }

func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(t.Unix(), -1)
}

func instant(s int64) time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(s, 0).UTC()
}
