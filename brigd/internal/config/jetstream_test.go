package config

import "testing"

func TestJetStream(t *testing.T) {
	for _, tt := range []struct {
		queue   JetStream
		set     string // a setting that is given besides
		command string
		waiting int
		keeps   bool
		want    string
	}{
		{JetStream{}, "", "serve", 0, false, ""},
		{JetStream{}, "jetstream.slots", "serve", 1, false, "jetstream.slots is about a queue, and there is none"},
		{JetStream{}, "", "worker", 1, false, "jetstream.at: a worker needs a queue"},
		{JetStream{At: "q"}, "", "serve", 0, false, "queue.waiting: a queue in which no run may be"},
		{JetStream{At: "q"}, "jetstream.ca", "serve", 1, false, "jetstream.ca is about the servers of others"},
		{JetStream{At: "q"}, "jetstream.server_config", "serve", 1, false, ""},
		{JetStream{At: "unix:q"}, "jetstream.server_config", "serve", 1, false, "jetstream.server_config is of a server"},
		{JetStream{At: "nats://a:1,tls://b:2"}, "jetstream.ca", "worker", 1, false, ""},
		{JetStream{At: "nats://a:1,http://u:secret@b"}, "", "worker", 1, false, `jetstream.at: "b" is no server's address`},
		{JetStream{At: "q", Key: "k"}, "", "serve", 1, false, "jetstream.cert and --jetstream-key go together"},
		{JetStream{At: "q"}, "", "serve", 1, true, "sandboxes.store needs --worker-name"},
		{JetStream{At: "q", Worker: "w-1"}, "", "serve", 1, true, ""},
		{JetStream{At: "q", Worker: "w.1"}, "", "serve", 1, true, `jetstream.worker: "w.1" is no worker's name`},
	} {
		want(t, tt.queue.check(given{tt.set: "--set"}, tt.command, tt.waiting, tt.keeps), tt.want)
	}
}

func TestSlots(t *testing.T) {
	for _, tt := range []struct {
		command, at string
		slots, want int
	}{
		{"serve", "", 7, 0}, {"serve", "nats://h:1", 0, 0}, {"serve", "nats://h:1", 7, 7}, {"serve", "unix:q", 0, 0},
		{"serve", "q", 0, 6}, {"worker", "nats://h:1", 0, 6}, {"worker", "unix:q", 2, 2},
	} {
		c := Default()
		c.Command, c.JetStream.At, c.JetStream.Slots, c.Gate.Running = tt.command, tt.at, tt.slots, 3
		if got := c.Slots(); got != tt.want {
			t.Errorf("%+v: %d", tt, got)
		}
	}
}
