package queue

import (
	"log/slog"
	"strings"
	"testing"
)

// The error of a connection has no password or token: it goes to a log.
func TestNoSecretInAnError(t *testing.T) {
	for _, at := range []string{"nats://bob:s3cret@127.0.0.1:1", "nats://s3cret@127.0.0.1:1", "nats://bob:s3cret/x@127.0.0.1:1",
		"nats://127.0.0.1:1,nats://bob:s3cret%zz@127.0.0.1:1"} {
		_, err := Connect(t.Context(), Options{URL: at, Logger: slog.New(slog.DiscardHandler)})
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", at, err)
		}
	}
}
