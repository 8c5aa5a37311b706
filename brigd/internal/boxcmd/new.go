package boxcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"brig/brigd/engine"
	"brig/brigd/internal/verbs"
)

// make makes a box and prints its id.
func (c *command) make(ctx context.Context, _ []string) (err error) {
	if c.box.Env, err = c.variables(); err != nil {
		return err
	}
	c.box.Living = true
	body, err := json.Marshal(&c.box)
	if err != nil {
		return err
	}
	var info engine.SandboxInfo
	if _, err := c.Call(ctx, "POST", "/v1/sandboxes", body, &info); err != nil {
		return err
	}
	if info.Living != nil {
		for _, line := range info.Living.Narrowed {
			c.say("%s", line)
		}
	}
	return verbs.Print(c.out, "%s\n", info.ID)
}

// addMount reads a --mount.
func (c *command) addMount(text string) error {
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return errors.New("write SHARE:TARGET, or SHARE:TARGET:ro, :rw or :cow")
	}
	m := engine.Mount{Share: parts[0], Target: parts[1]}
	if len(parts) == 3 {
		m.Mode = parts[2]
	}
	c.box.Mounts = append(c.box.Mounts, m)
	return nil
}

// remove ends boxes.
func (c *command) remove(ctx context.Context, ids []string) error {
	var errs []error
	for _, id := range ids {
		path, err := at(id)
		if err == nil {
			_, err = c.Call(ctx, "DELETE", path, nil, nil)
		}
		if err != nil && len(ids) > 1 {
			err = fmt.Errorf("%s: %w", id, err)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
