package main

import (
	"io"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// A request that asks for nothing else is run by an interpreter that waits, and the answer and the metrics say so.
func TestWarm(t *testing.T) {
	d := dir(t)
	p := begin(t, nil, "serve", "--warm", "python=1,imports=json", "--listen", "unix:"+d+"/s")
	code := map[string]any{"language": "python", "code": "import sys\nprint('json' in sys.modules)"}
	if status, a := p.do("POST", "/v1/run", code); status != 200 || a["stdout"] != "True\n" || a["warm"] != true {
		t.Errorf("%d %v\n%s", status, a, p.logged())
	}
	code["env"] = map[string]string{"A": "b"}
	if status, a := p.do("POST", "/v1/run", code); status != 200 || a["stdout"] != "False\n" || a["warm"] != nil {
		t.Errorf("%d %v\n%s", status, a, p.logged())
	}
	r := must.Get(p.client.Get(p.url + "/metrics"))(t)
	defer r.Body.Close()
	page, err := io.ReadAll(r.Body)
	for _, line := range []string{`sandbox_warm_taken_total{language="python"} 1`, `sandbox_warm_missed_total{language="python"} 1`} {
		if err != nil || !strings.Contains(string(page), line+"\n") {
			t.Errorf("no %s in the metrics, %v", line, err)
		}
	}
	refuses(t, nil, []string{"serve", "--warm", "python=1,imports=no_such_module", "--listen", "unix:" + d + "/t"},
		"No module named 'no_such_module'")
	refuses(t, nil, []string{"serve", "--warm", "sh=1", "--listen", "unix:" + d + "/t"}, "cannot be started before")
}
