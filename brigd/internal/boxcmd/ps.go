package boxcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"brig/brigd/engine"
	"brig/brigd/internal/api"
	"brig/brigd/internal/client"
	"brig/brigd/internal/verbs"
	"brig/internal/words"
)

// ps lists boxes, or the processes of one.
func (c *command) ps(ctx context.Context, args []string) error {
	if len(args) == 1 {
		return c.processes(ctx, args[0])
	}
	var list api.SandboxList
	if _, err := c.Call(ctx, "GET", "/v1/sandboxes", nil, &list); err != nil {
		return err
	}
	if c.json {
		return c.printJSON(list)
	}
	t := c.table("ID", "STATE", "PROCESSES", "ENDS", "IMAGE")
	for i := range list.Sandboxes {
		b := &list.Sandboxes[i]
		life := engine.Life{State: "files"} // a sandbox that does not live
		if b.Living != nil {
			life = *b.Living
		}
		t.row(b.ID, life.State, strconv.Itoa(life.Processes), "in "+time.Until(b.Expires).Round(time.Second).String(),
			life.Image)
	}
	return t.print()
}

// processes lists the processes of a box, and the ports on which it listens.
func (c *command) processes(ctx context.Context, id string) error {
	path, err := at(id)
	if err != nil {
		return err
	}
	var list struct {
		api.ProcessList
		*api.PortList
	}
	if _, err := c.Call(ctx, "GET", path+"/processes", nil, &list.ProcessList); err != nil {
		return err
	}
	why, err := c.ports(ctx, path, &list.PortList)
	if err != nil {
		return err
	}
	if c.json {
		return c.printJSON(list)
	}
	t := c.table("PID", "TAG", "STATE", "STARTED", "COMMAND")
	for _, p := range list.Processes {
		t.row(strconv.Itoa(p.PID), p.Tag, state(&p), p.Started.Local().Format(time.DateTime), strings.Join(p.Cmd, " "))
	}
	if err := t.print(); err != nil {
		return err
	}
	if list.PortList == nil {
		return verbs.Print(c.out, "ports: not asked for, %s\n", words.Printable(why))
	}
	for _, p := range list.Ports {
		if err := verbs.Print(c.out, "listens at port %d (%s)\n", p.Port, strings.Join(p.Addresses, ", ")); err != nil {
			return err
		}
	}
	return nil
}

// ports asks for the ports of a box, unless that would thaw it or is not allowed, for the reason that it returns.
func (c *command) ports(ctx context.Context, path string, list **api.PortList) (why string, err error) {
	var box engine.SandboxInfo
	if _, err := c.Call(ctx, "GET", path, nil, &box); err != nil {
		return "", err
	}
	if box.Living == nil || box.Living.State != "running" {
		return "since the box does not run now", nil
	}
	found := &api.PortList{}
	if _, err := c.Call(ctx, "GET", path+"/ports", nil, found); err != nil {
		_, why = failed(err)
		return why, nil
	}
	*list = found
	return "", nil
}

// state returns what a process does now.
func state(p *engine.ProcessInfo) string {
	switch {
	case p.Running:
		return "running"
	case p.Result == nil:
		return "ended"
	}
	if code := client.Code(p.Result); code >= 0 {
		return p.Result.Status + " (" + strconv.Itoa(code) + ")"
	}
	return p.Result.Status
}

// table is text in columns.
type table struct {
	c    *command
	text strings.Builder
	w    *tabwriter.Writer
}

func (c *command) table(head ...string) *table {
	t := &table{c: c}
	t.w = tabwriter.NewWriter(&t.text, 0, 0, 2, ' ', 0)
	t.row(head...)
	return t
}

// maxCell is how many bytes of a text are shown in a column.
const maxCell = 200

// row adds one. Its texts may be a payload's or another caller's.
func (t *table) row(cells ...string) {
	for i := range cells {
		cells[i] = words.Printable(words.Short(cells[i], maxCell))
	}
	fmt.Fprintln(t.w, strings.Join(cells, "\t"))
}

func (t *table) print() error {
	if err := t.w.Flush(); err != nil {
		return err
	}
	return verbs.Print(t.c.out, "%s", t.text.String())
}

// printJSON prints an answer of brigd's, whose strings steer no terminal.
func (c *command) printJSON(v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	lines := strings.Split(string(b), "\n")
	for i := range lines {
		lines[i] = words.JSON(lines[i])
	}
	return verbs.Print(c.out, "%s\n", strings.Join(lines, "\n"))
}
