package host

import (
	"os"
	"testing"

	"brig/internal/test/asuser"
)

func TestMain(m *testing.M) { os.Exit(asuser.Main(m)) }
