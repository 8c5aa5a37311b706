package queue

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"brig/brigd/internal/queue/gauge"
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

// A server on loopback, where no TLS is demanded, cannot send the client on to one off loopback.
func TestNoPlainConnectionOffLoopback(t *testing.T) {
	for _, c := range []struct {
		at    string
		plain bool
	}{{"nats://127.0.0.1:1", false}, {"nats://192.0.2.1:1", false}, {"nats://192.0.2.1:1", true}} {
		of := Options{URL: c.at, Plain: c.plain, Logger: slog.New(slog.DiscardHandler)}
		list, err := of.client(&gauge.Gauge{})
		if err != nil {
			t.Fatal(err)
		}
		var o nats.Options
		for _, set := range list {
			if err := set(&o); err != nil {
				t.Fatal(err)
			}
		}
		if !c.plain && !o.Secure && !o.IgnoreDiscoveredServers || c.plain && o.IgnoreDiscoveredServers {
			t.Errorf("%s, plain %v: TLS %v, others ignored %v", c.at, c.plain, o.Secure, o.IgnoreDiscoveredServers)
		}
	}
}
