package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"brig/internal/test/asuser"
	"brig/internal/test/must"
)

// node is a server of a cluster on loopback, which can be killed and started again.
type node struct {
	t      *testing.T
	dir    string
	client int // port
	args   []string
	mu     sync.Mutex
	cmd    *exec.Cmd
}

// cluster starts servers that replicate. BRIG_NATS_SERVER names a nats-server to use instead of brigd-queue.
func cluster(t *testing.T, count int) []*node {
	t.Helper()
	list := make([]*node, count)
	var routes []string
	ports := make([]int, count)
	for i := range list {
		list[i] = &node{t: t, dir: dir(t), client: freePort(t)}
		ports[i] = freePort(t)
		routes = append(routes, fmt.Sprintf("nats://route:secret@127.0.0.1:%d", ports[i]))
	}
	server := os.Getenv("BRIG_NATS_SERVER")
	for i, n := range list {
		text := fmt.Sprintf("server_name: n%d\nlisten: 127.0.0.1:%d\nauthorization {users: [{user: brig, password: secret}]}\n", i, n.client)
		if count > 1 {
			text += fmt.Sprintf("cluster {name: c, listen: 127.0.0.1:%d, authorization {user: route, password: secret}, routes: [%s]}\n",
				ports[i], strings.Join(routes, ", "))
		}
		if server != "" {
			text += fmt.Sprintf("jetstream {store_dir: %q}\n", n.dir+"/store")
		}
		conf := file(t, n.dir+"/conf", text)
		if n.args = []string{filepath.Join(filepath.Dir(brigd(t)), "brigd-queue"), "--dir", n.dir, "--config", conf}; server != "" {
			n.args = []string{server, "-c", conf}
		}
		n.start()
	}
	t.Cleanup(func() {
		for _, n := range list {
			n.kill()
		}
	})
	return list
}

func freePort(t *testing.T) int {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (n *node) start() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cmd = exec.Command(n.args[0], n.args[1:]...)
	log := must.Get(os.OpenFile(n.dir+"/log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600))(n.t)
	defer log.Close()
	n.cmd.Stdout, n.cmd.Stderr = log, log
	must.Do(n.t, n.cmd.Start())
	for range 3000 {
		if c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", n.client)); err == nil {
			c.Close()
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	text, _ := os.ReadFile(n.dir + "/log")
	n.t.Fatalf("a server does not listen:\n%s", text)
}

func (n *node) kill() {
	n.mu.Lock()
	defer n.mu.Unlock()
	_ = n.cmd.Process.Kill()
	_ = n.cmd.Wait()
}

// urls returns the addresses of a cluster for --jetstream.
func urls(list []*node) string {
	var all []string
	for _, n := range list {
		all = append(all, fmt.Sprintf("nats://brig:secret@127.0.0.1:%d", n.client))
	}
	return strings.Join(all, ",")
}

// once skips a test in the second run of the suite.
func once(t *testing.T) {
	t.Helper()
	if asuser.Second() {
		t.Skip("the same as root: it is about the queue, and not about jails")
	}
}

// startWorker starts a worker, which serves its health at a socket.
func startWorker(t *testing.T, at string, args ...string) *proc {
	t.Helper()
	return begin(t, nil, append([]string{"worker", "--listen", "unix:" + dir(t) + "/s", "--jetstream", at}, args...)...)
}

// later submits a run that is not waited for, and returns its id.
func (p *proc) later(script string, header ...string) string {
	p.t.Helper()
	status, a := p.run(script, append(header, "Prefer", "respond-async")...)
	if status != 202 || a["state"] != "queued" {
		p.t.Fatalf("%d %v\n%s", status, a, p.logged())
	}
	return a["id"].(string)
}

// ended waits for the result of a run.
func (p *proc) ended(id string, header ...string) map[string]any {
	p.t.Helper()
	return p.state(id, "ended", header...)["result"].(map[string]any)
}

// state waits until a run is in a state.
func (p *proc) state(id, want string, header ...string) map[string]any {
	p.t.Helper()
	var status int
	var a map[string]any
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if status, a = p.do("GET", "/v1/runs/"+id, nil, header...); status == 200 && a["state"] == want {
			return a
		}
	}
	p.t.Fatalf("%s is never %s: %d %v\n%s", id, want, status, a, p.logged())
	return nil
}

// events runs a script and calls each for the events of its stream.
func (p *proc) events(ctx context.Context, script string, each func(map[string]any)) error {
	p.t.Helper()
	return p.streamOf(ctx, "/v1/run", script, each)
}

func (p *proc) streamOf(ctx context.Context, path, script string, each func(map[string]any)) error {
	p.t.Helper()
	w := p.streamed(ctx, path, map[string]any{"cmd": []string{"/bin/sh", "-c", script}})
	defer w.Body.Close()
	for in := json.NewDecoder(w.Body); ; {
		var e map[string]any
		if err := in.Decode(&e); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		each(e)
	}
}
