package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"brig/internal/test/certs"
	"brig/internal/test/long"
	"brig/internal/test/must"
)

// soon waits until something is true.
func soon(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// rooted skips a test that mounts or makes network namespaces.
func rooted(t *testing.T) {
	t.Helper()
	if once(t); os.Geteuid() != 0 {
		t.Skip("only root may mount a small disk or cut a network")
	}
}

// queueServer starts brigd-queue with a configuration, below wrap, and waits until it listens.
func queueServer(t *testing.T, d, conf string, wrap ...string) {
	t.Helper()
	args := append(wrap, filepath.Join(filepath.Dir(brigd(t)), "brigd-queue"), "--dir", d+"/q", "--config", file(t, d+"/conf", conf))
	cmd := exec.Command(args[0], args[1:]...)
	log := must.Get(os.Create(d + "/log"))(t)
	defer log.Close()
	if cmd.Stderr = log; cmd.Start() != nil {
		t.Fatal(args)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	soon(t, "the server listens", func() bool {
		c, err := net.Dial("unix", d+"/q/socket")
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// While the disk of the queue is full, nothing is taken; a caller who waits is answered once there is room again, and
// what was kept is still there. The server is started again: after a failed write it would refuse all others.
func TestQueueDiskFull(t *testing.T) {
	long.Test(t)
	rooted(t)
	d := dir(t)
	must.Do(t, os.Mkdir(d+"/q", 0o700))
	p := beginCmd(t, exec.Command("unshare", "-m", "sh", "-c", `mount -t tmpfs -o size=128m,mode=700 none "$0" && exec "$@"`, d+"/q",
		brigd(t), "serve", "--listen", "unix:"+d+"/s", "--jetstream", d+"/q"), nil)
	kept := p.later("echo kept")
	if a := p.ended(kept); a["stdout"] != "kept\n" {
		t.Fatalf("%v", a)
	}
	big := must.Get(os.Create(fmt.Sprintf("/proc/%d/root%s/q/big", p.cmd.Process.Pid, d)))(t)
	defer big.Close()
	zero := must.Get(os.Open("/dev/zero"))(t)
	defer zero.Close()
	if _, err := io.Copy(big, zero); err == nil || !strings.Contains(err.Error(), "no space") {
		t.Fatalf("the disk is not full: %v", err)
	}
	answered := make(chan map[string]any, 1)
	go func() {
		_, a := p.do("POST", "/v1/run", map[string]any{"cmd": []string{"wc", "-c"}, "stdin": strings.Repeat("x", 900_000)})
		answered <- a
	}()
	soon(t, "the server ends", func() bool { return strings.Contains(p.logged(), "has ended and is started again") })
	soon(t, "nothing is taken", func() bool {
		_, h := p.do("GET", "/healthz", nil)
		return strings.HasPrefix(fmt.Sprint(h["details"].(map[string]any)["short_of"]), "disk: ")
	})
	must.Do(t, big.Truncate(0))
	if a := <-answered; a["stdout"] != "900000\n" {
		t.Errorf("who has waited: %v\n%s", a, p.logged())
	}
	if a := p.ended(kept); a["stdout"] != "kept\n" {
		t.Errorf("what was kept: %v", a)
	}
}

// A worker whose network is cut goes on; its run is started on another one, whose result counts. When the cut is
// healed, its own result is dropped, and it takes runs again. All of it is by TLS, off loopback.
func TestQueueNetworkCut(t *testing.T) {
	rooted(t)
	d := dir(t)
	var ns [2]string // processes in network namespaces of their own, with a cable in between
	for i := range ns {
		cmd := exec.Command("sleep", "inf")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		must.Do(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		ns[i] = strconv.Itoa(cmd.Process.Pid)
	}
	in := func(i int, args ...string) *exec.Cmd {
		return exec.Command("nsenter", append([]string{"-t", ns[i], "-n"}, args...)...)
	}
	ip := func(i int, args string) {
		t.Helper()
		if out, err := in(i, append([]string{"ip"}, strings.Fields(args)...)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", args, err, out)
		}
	}
	ip(0, "link add cable type veth peer name cable netns "+ns[1])
	for i := range ns {
		ip(i, "addr add 10.9.0."+strconv.Itoa(i+1)+"/24 dev cable")
		ip(i, "link set cable up")
		ip(i, "link set lo up")
	}
	certs.New(t, d, "ca").Issue("server")
	queueServer(t, d, fmt.Sprintf("listen: 10.9.0.1:4222\nauthorization {users: [{user: brig, password: secret}]}\n"+
		"tls {cert_file: %q, key_file: %q}\n", d+"/server.pem", d+"/server.key"), in(0).Args...)
	at := []string{"--jetstream", "nats://brig:secret@10.9.0.1:4222", "--jetstream-ca", d + "/ca.pem"}
	brigdIn := func(i int, name, command string, args ...string) *proc {
		t.Helper()
		return beginCmd(t, in(i, append(append([]string{brigd(t), command, "--listen", "unix:" + d + "/" + name}, at...), args...)...), nil)
	}
	front := brigdIn(0, "front", "serve", "--ack-wait", "1s")
	far := brigdIn(1, "far", "worker", "--worker-name", "far")
	id := front.later("sleep 1; echo done")
	if q := front.state(id, "running")["queue"].(map[string]any); q["worker"] != "far" {
		t.Fatalf("it runs at %v", q)
	}
	ip(0, "link set cable down")
	near := brigdIn(0, "near", "worker", "--worker-name", "near")
	if a := front.ended(id); a["stdout"] != "done\n" || a["queue"].(map[string]any)["worker"] != "near" {
		t.Errorf("the run whose worker was cut off: %v", a)
	}
	ip(0, "link set cable up")
	soon(t, "the second result is late", func() bool {
		_, m := far.do("GET", "/metrics", nil)
		return strings.Contains(m["text"].(string), "\nbrigd_queue_late_total 1\n")
	})
	near.signal(syscall.SIGTERM)
	near.end()
	if _, a := front.run("echo healed"); a["stdout"] != "healed\n" || a["queue"].(map[string]any)["worker"] != "far" {
		t.Errorf("after it was healed: %v", a)
	}
}

// Who fills the queue delays those in his lane only, and a class goes before the one below it, but for each eighth run.
func TestQueueFairness(t *testing.T) {
	once(t)
	d := dir(t)
	p := begin(t, nil, "serve", "--listen", "unix:"+d+"/s", "--jetstream", d+"/q", "--running", "1", "--slots", "1", "--audit", d+"/audit")
	hold := p.later("sleep 3600")
	p.state(hold, "running")
	of := map[string]string{} // runs to their callers
	ask := func(agent, urgency string, count int) {
		for range count {
			of[p.later("true", "X-Agent-Id", agent, "Priority", "u="+urgency)] = agent
		}
	}
	ask("greedy", "3", 20)
	ask("other", "3", 1) // its hash puts it into another lane
	ask("low", "7", 2)
	ask("high", "0", 2)
	if status, a := p.do("DELETE", "/v1/runs/"+hold, nil); status != 204 {
		t.Fatalf("%d %v", status, a)
	}
	for id, agent := range of {
		p.ended(id, "X-Agent-Id", agent)
	}
	text := must.Get(os.ReadFile(d + "/audit"))(t)
	var order []string
	for line := range strings.Lines(string(text)) {
		if _, rest, ok := strings.Cut(line, `"event":"run.start","run":"`); ok && of[rest[:strings.IndexByte(rest, '"')]] != "" {
			order = append(order, of[rest[:strings.IndexByte(rest, '"')]])
		}
	}
	place := func(agent string, n int) int { // of its run n, from 1
		for i, a := range order {
			if a == agent {
				if n--; n == 0 {
					return i
				}
			}
		}
		return -1
	}
	if len(order) != len(of) || place("high", 2) > 2 || place("high", 2) > place("low", 2) || place("other", 1) > place("greedy", 3) {
		t.Errorf("%d of %d started, in this order: %v", len(order), len(of), order)
	}
}

// A worker may take more runs than requests may wait at once: none is refused for that.
func TestQueueManySlots(t *testing.T) {
	once(t)
	d := dir(t)
	p := begin(t, nil, "serve", "--listen", "unix:"+d+"/s", "--jetstream", d+"/q", "--running", "1", "--slots", "20", "--max-requests", "2")
	var ids []string
	for range 20 {
		ids = append(ids, p.later("sleep 0.05"))
	}
	for _, id := range ids {
		if a := p.ended(id); a["status"] != "ok" {
			t.Errorf("%v", a)
		}
	}
}
