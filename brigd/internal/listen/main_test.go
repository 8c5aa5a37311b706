package listen

import (
	"os"
	"testing"

	"brig/internal/test/asuser"
)

// TestMain runs the suite as root and as an ordinary user.
func TestMain(m *testing.M) { os.Exit(asuser.Main(m)) }
