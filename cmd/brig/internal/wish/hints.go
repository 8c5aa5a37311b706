package wish

import (
	_ "embed"

	"brig/cmd/brig/internal/convert"
	"brig/cmd/brig/internal/convert/docker"
	"brig/internal/cli"
)

// hintTable has flags of other tools, and names that people try, which brig has under another name or not at all.
//
//go:embed hints.txt
var hintTable string

// Hints returns all hints; the first match is used.
func Hints() (list []cli.Hint) {
	for _, w := range convert.Words(docker.Table + hintTable) {
		names := "--" + w.Name
		if w.Letter != "" {
			names += " -" + w.Letter
		}
		if w.Text != "" {
			list = append(list, cli.Hint{names, w.Text})
		}
	}
	return list
}
