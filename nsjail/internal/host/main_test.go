package host

import (
	"os"
	"testing"

	"brig/internal/test/asuser"
)

func TestMain(m *testing.M) {
	if os.Getenv(namespaced) != "" {
		os.Exit(m.Run())
	}
	os.Exit(asuser.Main(m))
}
