package config

import (
	"regexp"
	"strings"
	"time"

	"brig/internal/cli"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail"
)

// JetStream has the settings of the durable queue.
type JetStream struct {
	At                   string // the servers' URLs, unix:DIR, or the directory of a server that brigd starts
	ServerConfig         string // of that server
	Creds, CA, Cert, Key string // files
	Plain                bool
	Slots                int    // 0 is the default: see Config.Slots
	Worker               string // the worker's name
	Replicas             int
	AckWait, KeepResults nsjail.Duration
	MaxDeliver           int
}

// Own reports whether brigd starts the queue's server itself.
func (j *JetStream) Own() bool {
	return j.At != "" && !strings.Contains(j.At, "://") && !strings.HasPrefix(j.At, "unix:")
}

// URL returns the address of the queue's server.
func (j *JetStream) URL() (string, error) {
	at, socket := strings.CutPrefix(j.At, "unix:")
	if !socket && !j.Own() {
		return j.At, nil
	}
	dir, err := sys.Abs(at)
	return "unix:" + dir, err
}

func defaultJetStream() JetStream {
	return JetStream{Replicas: 1, AckWait: nsjail.Duration(30 * time.Second), MaxDeliver: 3,
		KeepResults: nsjail.Duration(24 * time.Hour)}
}

func (j *JetStream) flags() []cli.Flag {
	return []cli.Flag{
		{Name: "jetstream", Path: "jetstream.at", Args: "WHERE", To: &j.At,
			Help: "a durable queue that runs go through, on NATS JetStream: nats://HOST:PORT, several with commas; or a " +
				"directory, in which brigd keeps a queue of its own (with brigd-queue) and runs what is in it; or unix:DIR, " +
				"where another brigd does"},
		{Name: "jetstream-config", Path: "jetstream.server_config", Args: "FILE", To: &j.ServerConfig,
			Help: "nats-server's configuration of the queue of its own: where it listens for other machines, with users and " +
				"TLS"},
		{Name: "jetstream-creds", Path: "jetstream.creds", Args: "FILE", To: &j.Creds,
			Help: "the credentials with which brigd connects (nsc); a user and password can stand in the URL instead"},
		{Name: "jetstream-ca", Path: "jetstream.ca", Args: "FILE", To: &j.CA,
			Help: "the authority of the server's certificate, in PEM; the system's if left out"},
		{Name: "jetstream-cert", Path: "jetstream.cert", Args: "FILE", To: &j.Cert,
			Help: "the certificate with which brigd connects, in PEM"},
		{Name: "jetstream-key", Path: "jetstream.key", Args: "FILE", To: &j.Key, Help: "its private key, in PEM"},
		{Name: "jetstream-plain", Path: "jetstream.plain", To: &j.Plain,
			Help: "connect off loopback without TLS: the network in between is trusted with code, secrets and tokens"},
		{Name: "slots", Path: "jetstream.slots", Args: "N", To: &j.Slots, Max: maxCount,
			Help: "runs that are taken from the queue at once, of which --running go on; 0 is twice --running for a worker " +
				"and with a queue of its own, and none with that of others"},
		{Name: "worker-name", Path: "jetstream.worker", Args: "NAME", To: &j.Worker,
			Help: "the worker's name, which results and sandboxes' ids have; random if left out. With " +
				"--sandbox-store it must stay the same"},
		{Name: "replicas", Path: "jetstream.replicas", Args: "N", To: &j.Replicas, Min: 1, Max: 99,
			Help: "how many servers of a cluster keep each run, when the queue is made: 1, 3 or 5"},
		{Name: "ack-wait", Path: "jetstream.ack_wait", Args: "TIME", To: &j.AckWait, Min: 1, Max: maxTime,
			Help: "how long a worker may be silent until its runs are given to others, when the queue is made"},
		{Name: "max-deliver", Path: "jetstream.max_deliver", Args: "N", To: &j.MaxDeliver, Min: 1, Max: 1000,
			Help: "how often a run is started whose workers are lost, before it is given up"},
		{Name: "keep-results", Path: "jetstream.keep_results", Args: "TIME", To: &j.KeepResults, Min: 60, Max: maxTime,
			Help: "how long results are kept, when the queue is made"},
	}
}

var workerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,40}$`)

// check also needs to know the command, how many runs may wait, and whether this brigd keeps sandboxes for the queue.
func (j *JetStream) check(g given, command string, waiting int, keeps bool) error {
	if err := g.useless(j.At == "", " is about a queue, and there is none; add --jetstream WHERE", "jetstream.creds",
		"jetstream.ca", "jetstream.cert", "jetstream.plain", "jetstream.slots", "jetstream.worker", "jetstream.replicas",
		"jetstream.ack_wait", "jetstream.max_deliver", "jetstream.keep_results"); err != nil {
		return err
	}
	if command == "worker" && j.At == "" {
		return wrong(true, "jetstream.at", ": a worker needs a queue; add --jetstream nats://HOST:PORT")
	}
	if err := wrong(j.At != "" && waiting == 0, "queue.waiting",
		": a queue in which no run may be is none; write a number above 0, or leave --jetstream out"); err != nil {
		return err
	}
	if j.Own() {
		if err := g.useless(true, " is about the servers of others, and --jetstream names a directory; leave it out",
			"jetstream.creds", "jetstream.ca", "jetstream.cert", "jetstream.plain"); err != nil {
			return err
		}
	}
	for at := range strings.SplitSeq(j.At, ",") {
		scheme, rest, url := strings.Cut(at, "://")
		if j.At == "" || j.Own() || strings.HasPrefix(j.At, "unix:") {
			break
		}
		if !url || scheme != "nats" && scheme != "tls" || rest == "" {
			return wrong(true, "jetstream.at", ": %s is no server's address; write nats://HOST:PORT",
				words.Quote(at[strings.LastIndexByte(at, '@')+1:])) // what is before it is a password
		}
	}
	if err := g.useless(!j.Own(), " is of a server that brigd starts, and --jetstream names no directory; leave it out",
		"jetstream.server_config"); err != nil {
		return err
	}
	if err := wrong((j.Cert == "") != (j.Key == ""), "jetstream.cert",
		" and --jetstream-key go together; add the other"); err != nil {
		return err
	}
	if err := wrong(keeps && j.Worker == "", "sandboxes.store",
		" needs --worker-name NAME with a queue: the ids of sandboxes have the name, and it must stay"); err != nil {
		return err
	}
	return wrong(j.Worker != "" && !workerName.MatchString(j.Worker), "jetstream.worker",
		": %s is no worker's name; write letters, digits and hyphens, at most 41", words.Quote(j.Worker))
}
