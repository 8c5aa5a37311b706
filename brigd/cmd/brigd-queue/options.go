package main

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"

	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/sys/unix"

	"brig/internal/words"
)

// options returns the server's options: what the configuration file has, the queue's directory, and the local user.
func options(s settings, secret string) (*server.Options, error) {
	o := &server.Options{}
	if s.config != "" {
		var err error
		if o, err = server.ProcessConfigFile(s.config); err != nil {
			return nil, fmt.Errorf("--config %s: %w", words.Quote(s.config), err)
		}
		if err := check(o); err != nil {
			return nil, fmt.Errorf("--config %s: %w", words.Quote(s.config), err)
		}
	}
	o.DontListen = o.Host == "" && o.Port == 0
	if o.JetStreamMaxStore == 0 { // the server's default is a part of what is free when it starts: nothing on a full disk
		var st unix.Statfs_t
		if err := unix.Statfs(s.dir, &st); err != nil { // statfs(2)
			return nil, fmt.Errorf("--dir %s: %w", words.Quote(s.dir), err)
		}
		o.JetStreamMaxStore = int64(st.Blocks) * st.Bsize / 4 * 3
	}
	o.JetStream, o.StoreDir, o.NoSigs, o.NoLog = true, filepath.Join(s.dir, "store"), true, false
	if o.Username != "" {
		o.Users = append(o.Users, &server.User{Username: o.Username, Password: o.Password})
		o.Username, o.Password = "", ""
	}
	o.Users = append(o.Users, &server.User{Username: localUser, Password: secret,
		AllowedConnectionTypes: map[string]struct{}{"IN_PROCESS": {}}})
	return o, nil
}

// check refuses a configuration that opens a port to anybody, and what the local user does not go together with.
func check(o *server.Options) error {
	tls := "a password sent there can be read on the way; add a tls block, or listen at 127.0.0.1"
	listens := o.Host != "" || o.Port != 0
	switch {
	case o.Authorization != "" || len(o.TrustedOperators) > 0 || len(o.Accounts) > 0 || len(o.Nkeys) > 0:
		return errors.New("it has a token, nkeys, accounts or operators; brigd-queue knows users with passwords in " +
			"authorization, and for others there is nats-server")
	case o.HTTPPort != 0 || o.HTTPSPort != 0 || o.ProfPort != 0 || o.Websocket.Port != 0 || o.MQTT.Port != 0 ||
		o.LeafNode.Port != 0 || o.Gateway.Port != 0:
		return errors.New("it opens ports besides those of clients and of the cluster; use nats-server for that")
	case listens && o.Username == "" && len(o.Users) == 0:
		return errors.New("its port is open to anybody who reaches it; add authorization with users")
	case o.NoAuthUser != "":
		return errors.New("no_auth_user lets anybody be " + words.Quote(o.NoAuthUser) + "; leave it out")
	case !o.TLSMap && (o.Username != "" && o.Password == "" || slices.ContainsFunc(o.Users, open)):
		return errors.New("a user has no password; add one")
	case listens && !loopback(o.Host) && (o.TLSConfig == nil || o.AllowNonTLS):
		return errors.New("it listens off loopback, and " + tls + ", and leave allow_non_tls out")
	case o.Cluster.Port != 0 && o.Cluster.Username == "" && o.Cluster.TLSConfig == nil:
		return errors.New("its cluster's port is open to anybody who reaches it; add authorization in cluster")
	case o.Cluster.Port != 0 && !loopback(o.Cluster.Host) && o.Cluster.TLSConfig == nil:
		return errors.New("its cluster listens off loopback, and " + tls)
	}
	return nil
}

func open(u *server.User) bool { return u.Password == "" }

// loopback reports whether an address to listen at is of this machine alone.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
