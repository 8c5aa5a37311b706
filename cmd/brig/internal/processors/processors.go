// Package processors has brig use more than the one processor with which it starts.
package processors

import (
	"os"
	"runtime"
)

// UseAll sets GOMAXPROCS to the processors of the machine: keeper.c makes Go start with one, and Go rereads their
// number only after a second.
func UseAll() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.SetDefaultGOMAXPROCS()
	}
}
