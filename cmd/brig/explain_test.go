package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"

	"brig/internal/test/must"
	"brig/internal/test/osroot"
	"brig/nsjail"
	"brig/nsjail/explain"
)

// TestExplainIsRun compares what explain prints with what run performs: a command that does not exist fails in the last
// step of run, and a working directory that does not exist before that, and both errors have the number of the step,
// how many there are, and the call.
func TestExplainIsRun(t *testing.T) {
	bin, dir := brigBinary(t), t.TempDir()
	compared := 0
	for _, flags := range []string{
		"", "--no-init", "--memory 64m", "--memory=64m --no-init", "--cpus 0.5", "--pids-limit 50", "--cpu-time 10s",
		"-m 64m --cpus 1 --pids-limit 20", "--memory 64m --no-oom-group", "--memory 64m --net none", "--net none",
		"--net host", "--net host --pids-limit 50", "--no-init --net none", "--allow example.com:443",
		"--allow example.com:443 --memory 64m", "--publish 127.0.0.1:" + freePort(t) + ":80", "--bind " + dir + " /work",
		"--ro-bind " + dir + " /input --memory 64m", "--tmpfs /data", "--user 0:0", "--user 0:0 --pids-limit 50",
		"--hostname box", "--seccomp unconfined", "--seccomp unconfined --no-init", "--optional overlay", "--env A=b",
		"--ulimit nofile=64", "--timeout 5s --memory 64m", "--rootfs / --memory 64m", "--cpus 1 --tmpfs /x",
		"--memory 64m --bind " + dir + " /work --no-init", "--etc " + osroot.PublicEtc(t),
	} {
		for _, last := range []string{"--workdir /no/such -- true", "--workdir / -- /no/such"} {
			args := append(strings.Fields(flags), strings.Fields(last)...)
			var answer struct{ Error *nsjail.Error }
			run := jsonOf(t, bin, append([]string{"run", "--json"}, args...), &answer)
			var plan struct{ Steps []explain.Step }
			explained := jsonOf(t, bin, append([]string{"explain", "--json"}, args...), &plan)
			e := answer.Error
			if e == nil || e.Step == 0 {
				if len(plan.Steps) > 0 {
					t.Errorf("%q: run: %s; explain has %d steps", args, run, len(plan.Steps))
				}
				t.Logf("%q: neither run nor explain: %s", args, run)
				continue
			}
			compared++
			if len(plan.Steps) != e.Of || e.Step > e.Of {
				t.Errorf("%q: run has %d steps, explain %d: %s", args, e.Of, len(plan.Steps), explained)
				continue
			}
			if st := plan.Steps[e.Step-1]; st.N != e.Step || st.Label != e.Op && e.Op != "args" ||
				!strings.Contains(st.Call, `"/no/such"`) {
				t.Errorf("%q: run failed in %+v, which explain has as %+v", args, e, st)
			}
		}
	}
	if compared < 40 { // an ordinary user may have no control groups
		t.Errorf("only %d of the calls could be compared", compared)
	}
}

// freePort returns a TCP port that nothing listens at.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	must.Do(t, err)
	return port
}

// jsonOf runs the binary and decodes what it wrote; what it wrote to stderr is for messages.
func jsonOf(t *testing.T, bin string, args []string, into any) string {
	t.Helper()
	var out, errs bytes.Buffer
	c := exec.Command(bin, args...)
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	if out.Len() > 0 {
		if derr := json.Unmarshal(out.Bytes(), into); derr != nil {
			t.Fatalf("%q: %v: %s", args, derr, out.Bytes())
		}
	}
	return fmt.Sprint(err, " ", errs.String())
}
