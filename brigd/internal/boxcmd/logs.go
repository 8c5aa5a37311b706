package boxcmd

import (
	"context"
	"fmt"
	"strconv"

	"brig/brigd/engine"
)

// logs prints what a process has written.
func (c *command) logs(ctx context.Context, args []string) error {
	path, err := atProcess(args[0], args[1])
	if err != nil {
		return err
	}
	if c.offset < 0 {
		return fmt.Errorf("--offset: %d is no number of bytes; leave it out for all that is kept", c.offset)
	}
	to := c.screens(false)
	if c.follow {
		w, _, err := c.Do(ctx, "GET", path+"/output?offset="+strconv.FormatInt(c.offset, 10), nil, "Accept", ndjson)
		if err != nil {
			return err
		}
		defer w.Body.Close()
		_, err = to.read(w.Body, func(*engine.ProcessInfo) {})
		return err
	}
	var info engine.ProcessInfo
	if _, err := c.Call(ctx, "GET", path, nil, &info); err != nil {
		return err
	}
	for at := c.offset; at < info.Next; { // not what comes meanwhile
		var part engine.ProcessOutput
		if _, err := c.Call(ctx, "GET", path+"/output?offset="+strconv.FormatInt(at, 10), nil, &part); err != nil {
			return err
		}
		c.dropped(part.Dropped)
		for _, piece := range part.Output {
			if err := to.write(piece.Stream, piece.Data); err != nil {
				return err
			}
		}
		at = max(part.Next, at+1)
	}
	return to.end()
}
