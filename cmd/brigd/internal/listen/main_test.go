package listen

import (
	"os"
	"testing"

	"brig/internal/testuser"
)

// TestMain runs the suite as root and as an ordinary user.
func TestMain(m *testing.M) { os.Exit(testuser.Main(m)) }
