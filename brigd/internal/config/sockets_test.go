package config

import (
	"strings"
	"testing"

	"brig/brigd/internal/listen"
)

// want wants an error that begins with a text, or none if it is "".
func want(t *testing.T, err error, text string) {
	t.Helper()
	if (err == nil) != (text == "") || err != nil && !strings.HasPrefix(err.Error(), text) {
		t.Errorf("%v; want %q", err, text)
	}
}

// A port needs a proof of who calls, and one that others can reach needs TLS, too.
func TestCheckTCP(t *testing.T) {
	cert := listen.TLSFiles{Cert: "c", Key: "k"}
	clients := listen.TLSFiles{Cert: "c", Key: "k", ClientCA: "a"}
	for name, tt := range map[string]struct {
		sockets  Sockets
		loopback bool
		want     string
	}{
		"nothing":             {Sockets{}, true, "a TCP port is open"},
		"a server's identity": {Sockets{TLS: cert}, true, "a TCP port is open"},
		"keys":                {Sockets{APIKeyFile: "f"}, true, ""},
		"tokens":              {Sockets{TokenKeys: []string{"k"}}, true, ""},
		"keys in the clear":   {Sockets{APIKeyFile: "f"}, false, "it is no loopback address"},
		"keys by TLS":         {Sockets{APIKeyFile: "f", TLS: cert}, false, ""},
		"certificates":        {Sockets{TLS: clients}, false, ""},
	} {
		t.Run(name, func(t *testing.T) { want(t, tt.sockets.CheckTCP(tt.loopback), tt.want) })
	}
}

// The settings of TCP are refused if brigd's own sockets are all Unix sockets. Those of a service manager may be TCP.
func TestCheckListen(t *testing.T) {
	set := given{"http.hosts": "--host"}
	want(t, (&Sockets{}).checkListen(set), "")
	want(t, (&Sockets{Listen: []string{"unix"}}).checkListen(given{}), "")
	want(t, (&Sockets{Listen: []string{"unix"}}).checkListen(set), "http.hosts is about TCP")
	want(t, (&Sockets{Listen: []string{"unix:"}}).checkListen(set), `listen: "unix:" is no place`)
	want(t, (&Sockets{Listen: []string{"unix", "tcp:[::]:1"}, APIKeyFile: "f"}).checkListen(set), "listen: it is no loopback")
}

func TestCheckTokens(t *testing.T) {
	want(t, (&Sockets{}).checkTokens(""), "")
	want(t, (&Sockets{TokenKeys: []string{"k"}}).checkTokens(""), "auth.token_keys needs a place")
	want(t, (&Sockets{TokenKeys: []string{"k"}, RequireToken: true}).checkTokens("d"), "")
	want(t, (&Sockets{RequireToken: true}).checkTokens("d"), "auth.require_token has nothing to check")
}
