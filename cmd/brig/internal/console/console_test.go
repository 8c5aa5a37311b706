package console

import (
	"os"
	"testing"

	"brig/internal/test/must"
)

func TestColourful(t *testing.T) {
	null := must.Get(os.Open(os.DevNull))(t)
	defer null.Close()
	if Colourful(null) {
		t.Error("/dev/null is no terminal")
	}
}
