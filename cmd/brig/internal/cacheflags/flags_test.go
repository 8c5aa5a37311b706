package cacheflags

import (
	"strings"
	"testing"

	"brig/cache"
)

// TestHelp: the help, which each start makes, has the names of the tools without asking for them.
func TestHelp(t *testing.T) {
	if help := (&Set{}).Flags(nil)[0].Help; !strings.Contains(help, "("+strings.Join(cache.Names(), ", ")+")") {
		t.Error(help)
	}
}
