package boxcmd

import (
	"context"
	"os"
	"strconv"

	"brig/brigd/engine"
	"brig/internal/terminal"
)

// attach connects the caller's streams to a process that runs.
func (c *command) attach(ctx context.Context, args []string) error {
	all, err := at(args[0])
	if err != nil {
		return err
	}
	path, err := atProcess(args[0], args[1])
	if err != nil {
		return err
	}
	var info engine.ProcessInfo
	if _, err := c.Call(ctx, "GET", path, nil, &info); err != nil {
		return err
	}
	var t *terminal.Terminal
	if f, ok := c.in.(*os.File); ok && info.TTY != nil {
		t, _ = terminal.Of(f) // without one, the streams are as they are
	}
	s := newSession(ctx, c, t)
	s.stays = true
	defer s.end()
	w, _, err := c.Do(s.ctx, "GET", path+"/output?offset="+strconv.FormatInt(info.Next, 10), nil, "Accept", ndjson)
	if err != nil {
		return s.why(err)
	}
	defer w.Body.Close()
	s.had = info.TTY
	return s.see(w.Body, all+"/processes", c.screens(t != nil))
}
