package images

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"brig/image"
	"brig/internal/words"
)

// shown is an image in JSON.
type shown struct {
	*image.Image
	Tree string `json:"tree"`
}

func (c *command) list([]string) error {
	list, err := c.store.List()
	if err != nil {
		return err
	}
	if c.json {
		all := []shown{}
		for _, m := range list {
			all = append(all, shown{m, m.Tree})
		}
		return c.answer(all)
	}
	var rows []string
	for _, m := range list {
		names := m.Names
		if len(names) == 0 {
			names = []string{""}
		}
		for _, n := range names {
			rows = append(rows, fmt.Sprintf("%-40s %-12s  %-12s %10s %8d  %s\n", familiar(n), short(m.Digest), m.Platform,
				words.Size(m.Size), m.Files, m.Added.Format(time.DateOnly)))
		}
	}
	slices.Sort(rows)
	head := fmt.Sprintf("%-40s %-12s  %-12s %10s %8s  %s\n", "NAME", "DIGEST", "PLATFORM", "SIZE", "FILES", "ADDED")
	return c.print("%s%s", head, strings.Join(rows, ""))
}

// familiar returns a full name as people write it.
func familiar(full string) string {
	n, err := image.ParseName(full)
	if err != nil {
		return "(no name)"
	}
	return n.Familiar()
}

func (c *command) inspect(names []string) error {
	all := []shown{}
	for _, text := range names {
		m, err := c.store.Lookup(text)
		if err != nil {
			return missing(err)
		}
		all = append(all, shown{m, m.Tree})
	}
	return c.answer(all)
}

// answer writes JSON without bytes that could control a terminal.
func (c *command) answer(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.print("%s\n", words.JSON(string(text)))
}

func (c *command) remove(names []string) error {
	for _, text := range names {
		removed, gone, err := c.store.Remove(text)
		for _, full := range removed {
			err = errors.Join(err, c.print("removed the name %s\n", familiar(full)))
		}
		if err != nil {
			return missing(err)
		}
		if gone != nil {
			if err := c.print("removed the image %s\n", gone.Digest); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *command) prune([]string) error {
	p, err := c.store.Prune()
	if err != nil {
		return err
	}
	if c.json {
		return c.answer(p)
	}
	for _, d := range p.Images {
		if err := c.print("removed the image %s\n", d); err != nil {
			return err
		}
	}
	return c.print("removed %d images without a name, %d unfinished, %d layers and %d files: %s\n", len(p.Images),
		p.Unfinished, p.Blobs, p.Files, words.Size(p.Bytes))
}
