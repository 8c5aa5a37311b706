package main

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"brig/internal/test/certs"
	"brig/internal/test/must"
)

// A server is used only if an authority that was named vouches for it, and lets in only who proves himself.
func TestQueueProof(t *testing.T) {
	once(t)
	d := dir(t)
	ca := certs.New(t, d, "ca")
	ca.Issue("server")
	ca.Issue("client")
	certs.New(t, d, "stranger")
	port := freePort(t)
	queueServer(t, d, fmt.Sprintf("listen: 127.0.0.1:%d\nauthorization {users: [{user: brig, password: secret}]}\n"+
		"tls {cert_file: %q, key_file: %q, ca_file: %q, verify: true}\n", port, d+"/server.pem", d+"/server.key", d+"/ca.pem"))
	args := func(password, authority, client string) []string {
		list := []string{"worker", "--listen", "unix:" + d + "/s", "--jetstream", fmt.Sprintf("nats://brig:%s@127.0.0.1:%d", password, port)}
		if authority != "" {
			list = append(list, "--jetstream-ca", d+"/"+authority+".pem")
		}
		if client != "" {
			list = append(list, "--jetstream-cert", d+"/"+client+".pem", "--jetstream-key", d+"/"+client+".key")
		}
		return list
	}
	for _, c := range []struct{ password, authority, client, want string }{
		{"secret", "", "client", "unknown authority"},
		{"secret", "stranger", "client", "unknown authority"},
		{"secret", "ca", "", "tls"},
		{"secret", "ca", "stranger", "tls"},
		{"guessed", "ca", "client", "Authorization Violation"},
	} {
		out, err := exec.Command(brigd(t), args(c.password, c.authority, c.client)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) || strings.Contains(string(out), c.password+"@") {
			t.Errorf("%+v: %v: %s", c, err, out)
		}
	}
	w := begin(t, nil, args("secret", "ca", "client")...)
	if status, _ := w.do("GET", "/healthz", nil); status != 200 {
		t.Errorf("%d\n%s", status, w.logged())
	}
}

// A nats-server with operators lets in who has a file of credentials that an account has signed.
func TestQueueCredentials(t *testing.T) {
	once(t)
	server, err := exec.LookPath("nats-server")
	if err != nil {
		t.Skip("brigd-queue knows no operators, and nats-server is not installed: ", err)
	}
	d := dir(t)
	made := func(key nkeys.KeyPair, err error) (nkeys.KeyPair, string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		public := must.Get(key.PublicKey())(t)
		return key, public
	}
	signed := func(text string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	operator, name := made(nkeys.CreateOperator())
	head := signed(jwt.NewOperatorClaims(name).Encode(operator))
	account, name := made(nkeys.CreateAccount())
	claims := jwt.NewAccountClaims(name)
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
	_, system := made(nkeys.CreateAccount())
	preload := fmt.Sprintf("%s: %q, %s: %q", name, signed(claims.Encode(operator)), system, signed(jwt.NewAccountClaims(system).Encode(operator)))
	stranger, _ := made(nkeys.CreateAccount())
	for name, by := range map[string]nkeys.KeyPair{"good": account, "bad": stranger} {
		user, public := made(nkeys.CreateUser())
		seed := must.Get(user.Seed())(t)
		text := must.Get(jwt.FormatUserConfig(signed(jwt.NewUserClaims(public).Encode(by)), seed))(t)
		file(t, d+"/"+name, string(text))
	}
	n := &node{t: t, dir: d, client: freePort(t)}
	n.args = []string{server, "-c", file(t, d+"/conf", fmt.Sprintf("listen: 127.0.0.1:%d\noperator: %q\nresolver: MEMORY\n"+
		"system_account: %s\nresolver_preload {%s}\njetstream {store_dir: %q}\n", n.client, head, system, preload, d+"/store"))}
	n.start()
	t.Cleanup(n.kill)
	args := []string{"worker", "--listen", "unix:" + d + "/s", "--jetstream", fmt.Sprintf("nats://127.0.0.1:%d", n.client), "--jetstream-creds"}
	for file, want := range map[string]string{"bad": "Authorization Violation", "missing": "no such file"} {
		if out, err := exec.Command(brigd(t), append(args, d+"/"+file)...).CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v: %s", file, err, out)
		}
	}
	w := begin(t, nil, append(args, d+"/good")...)
	if status, _ := w.do("GET", "/healthz", nil); status != 200 {
		t.Errorf("%d\n%s", status, w.logged())
	}
}
