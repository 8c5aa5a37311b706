package tokencmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"brig/brigd/token"
	"brig/internal/words"
)

// shown is the output of inspect --json.
type shown struct {
	ID        string       `json:"id"`
	Issuer    string       `json:"issuer"`
	Agent     string       `json:"agent,omitempty"`
	Expires   time.Time    `json:"expires,omitzero"`
	NotBefore time.Time    `json:"not_before,omitzero"`
	Sealed    bool         `json:"sealed"`
	Blocks    []shownBlock `json:"blocks"`
}

type shownBlock struct {
	ID string `json:"id"`
	token.Block
}

func (c *command) inspect() error {
	t, err := c.read()
	if err != nil {
		return err
	}
	s := shown{ID: t.ID(), Issuer: t.Issuer(), Agent: t.Agent(), Expires: t.Expires(), NotBefore: t.NotBefore(),
		Sealed: t.Sealed()}
	ids := t.IDs()
	for i, b := range t.Blocks() {
		s.Blocks = append(s.Blocks, shownBlock{ids[i], b})
	}
	if c.json {
		text, err := json.Marshal(&s)
		if err != nil {
			return err
		}
		return c.print("%s\n", words.JSON(string(text)))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "token   %s (not checked: see brigd token verify)\nissuer  %s\nsealed  %v\n", s.ID, s.Issuer, s.Sealed)
	for i, k := range s.Blocks {
		fmt.Fprintf(&b, "\nblock %d  %s\n", i, k.ID)
		row := func(name, value string) {
			if value != "" {
				fmt.Fprintf(&b, "  %-11s %s\n", name, words.JSON(value))
			}
		}
		row("agent", k.Agent)
		row("issued", stamp(k.Issued))
		row("not before", stamp(k.NotBefore))
		row("expires", stamp(k.Expires))
		if k.Runs > 0 {
			row("runs", fmt.Sprint(k.Runs))
		}
		row("note", k.Note)
		row("policy", string(k.Policy))
	}
	return c.print("%s", b.String())
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}

func (c *command) verify() error {
	if len(c.keys) == 0 {
		return errors.New("--token-key FILE is missing: the public key that issued it")
	}
	keys, err := ReadKeys(c.keys)
	if err != nil {
		return err
	}
	t, err := c.read()
	if err == nil {
		err = token.Verify(t, keys, time.Now())
	}
	if err == nil && c.state != "" {
		err = token.RevokedIn(c.state, t.IDs()...)
	}
	if err != nil {
		return err
	}
	end := "does not expire"
	if e := t.Expires(); !e.IsZero() {
		end = "expires at " + stamp(e)
	}
	agent := "any agent"
	if t.Agent() != "" {
		agent = "agent " + t.Agent()
	}
	return c.print("valid: %s, %s, %s\n", t.ID(), agent, end)
}

func (c *command) revoke() error {
	if c.state == "" {
		return errors.New("--state-dir DIR is missing: the one that brigd serve was started with")
	}
	id, expires := c.id, time.Time{}
	if id == "" {
		t, err := c.read()
		if err != nil {
			return err
		}
		id, expires = t.ID(), t.Expires()
	} else if c.token != "" {
		return errors.New("write either an ID or --token, not both")
	}
	if err := token.Revoke(c.state, id, c.reason, expires); err != nil {
		return err
	}
	return c.print("revoked: %s\n", id)
}
