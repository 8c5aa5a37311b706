package api

import (
	"strconv"

	"brig/brigd/engine"
	"brig/brigd/internal/front"
)

// searchHandlers answer requests that find files of sandboxes.
type searchHandlers struct {
	files   front.FileSearch
	watches *front.Budget
}

// maxWatches is the number of watches at a time. A caller has at most a quarter of what the others leave. A user of the
// kernel has 128 instances of inotify(7), of which other programs of the operator's need some.
const maxWatches = 64

func (h *searchHandlers) glob(c *call) (any, error) {
	most, err := c.most()
	if err != nil {
		return nil, err
	}
	list, more, err := h.files.GlobFiles(c.R.Context(), c.Caller, c.id, c.query.Get("pattern"), c.query.Get("path"), most)
	return FileList{append([]engine.FileInfo{}, list...), more}, err
}

func (h *searchHandlers) grep(c *call) (any, error) {
	most, err := c.most()
	if err != nil {
		return nil, err
	}
	return h.files.GrepFiles(c.R.Context(), c.Caller, c.id, &engine.Grep{Pattern: c.query.Get("pattern"),
		IgnoreCase: c.yes("ignore_case"), Path: c.query.Get("path"), Glob: c.query.Get("glob"), Max: most})
}

// usualMost is how many files or lines a search returns unless the query has another number.
const usualMost = 1000

// most returns how many are asked for.
func (c *call) most() (int, error) {
	text := c.query.Get("max")
	if text == "" || text == "0" {
		return usualMost, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, no("request", "invalid_parameter", "max", "max: this is no number", "write a number such as 100")
	}
	return int(n), nil
}
