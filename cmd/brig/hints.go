package main

import (
	_ "embed"

	"brig/cmd/brig/internal/convert"
	"brig/cmd/brig/internal/convert/docker"
	"brig/internal/cli"
	"brig/nsjail/spec"
)

// hintTable has flags of other tools, and names that people try, which brig has under another name or not at all.
//
//go:embed hints.txt
var hintTable string

// hints returns all hints; the first match is used.
func hints() (list []cli.Hint) {
	for _, w := range convert.Words(docker.Table + hintTable) {
		names := "--" + w.Name
		if w.Letter != "" {
			names += " -" + w.Letter
		}
		if w.Text != "" {
			list = append(list, cli.Hint{names, w.Text})
		}
	}
	for _, r := range spec.LimitTable() { // the names of the limits in other tools
		if r.Aliases != "" {
			list = append(list, cli.Hint{r.Aliases, "write --" + r.Flag + " " + r.Value})
		}
	}
	return list
}
