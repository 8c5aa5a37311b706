package boxcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"

	"brig/brigd/engine"
	"brig/brigd/internal/client"
	"brig/brigd/internal/verbs"
	"brig/internal/terminal"
)

// exec runs a command in a box.
func (c *command) exec(ctx context.Context, args []string) error {
	path, err := at(args[0])
	if err != nil {
		return err
	}
	if len(c.words) == 0 {
		return errors.New("there is no command; write brigd box exec ID -- COMMAND")
	}
	var t *terminal.Terminal
	if f, ok := c.in.(*os.File); ok && c.tty {
		t, _ = terminal.Of(f) // checked below
	}
	if c.tty && t == nil && !c.detached {
		return errors.New("-t: stdin is not a terminal; leave -t away, or add -d")
	}
	p := &c.process
	p.Cmd, p.Detached, p.Stdin = c.words, c.detached, !c.detached
	if p.Env, err = c.variables(); err != nil {
		return err
	}
	if c.tty {
		p.TTY = sizeOf(t)
		if term := os.Getenv("TERM"); p.Env["TERM"] == "" && term != "" {
			p.Env["TERM"] = term
		}
	}
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if path += "/processes"; c.detached {
		var info engine.ProcessInfo
		if _, err := c.Call(ctx, "POST", path, body, &info); err != nil {
			return err
		}
		return verbs.Print(c.out, "%s\n", info.ID)
	}
	s := newSession(ctx, c, t)
	defer s.end()
	w, _, err := c.Do(s.ctx, "POST", path, bytes.NewReader(body), "Accept", ndjson, "Content-Type", client.JSON)
	if err != nil {
		return s.why(err)
	}
	defer w.Body.Close()
	return s.see(w.Body, path, c.screens(t != nil))
}
