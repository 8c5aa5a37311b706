package worker

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/nats-io/nats.go"

	"brig/brigd/engine"
	"brig/brigd/internal/queue/memory"
	"brig/brigd/internal/queue/record"
	"brig/brigd/internal/queue/wire"
	"brig/brigd/job"
	"brig/internal/test/must"
)

// What a worker lacks is no result of the run, as long as there are attempts. A caller's cancellation is one, and that
// of a worker that ends is none.
func TestEndOf(t *testing.T) {
	refused := func(code, rule string) *engine.Response {
		return &engine.Response{Status: "refused", Error: &job.Refusal{Code: code, Rule: rule}}
	}
	ok, cancelled := &engine.Response{Status: "ok"}, &engine.Response{Status: "cancelled"}
	for what, c := range map[string]struct {
		a     *engine.Response
		ends  bool
		tries int
		want  end
	}{
		"a run that has ended":         {ok, false, 1, finished},
		"while the worker ends":        {ok, true, 1, finished},
		"cancelled by its caller":      {cancelled, false, 1, finished},
		"cancelled with its worker":    {cancelled, true, 3, killed},
		"refused by a policy":          {refused("policy_denied", ""), false, 1, finished},
		"no room":                      {refused("machine_full", ""), false, 2, lacking},
		"no room for the last time":    {refused("machine_full", ""), false, 3, hopeless},
		"no launcher":                  {refused("setup_failed", "launcher"), false, 1, lacking},
		"no log, while it ends":        {refused("audit_unavailable", ""), true, 1, lacking},
		"no ledger, more than at most": {refused("token_ledger", ""), false, 4, hopeless},
	} {
		if got := endOf(c.a, c.ends, c.tries, 3); got != c.want {
			t.Errorf("%s: %d, want %d", what, got, c.want)
		}
	}
}

// A delivery that only left its message in the queue is no try; the one that goes on is one.
func TestTriesOf(t *testing.T) {
	for _, c := range []struct {
		delivered, left uint64
		want            int
	}{{1, 0, 1}, {2, 0, 2}, {3, 1, 2}, {3, 2, 1}, {3, 9, 1}} {
		if got := triesOf(c.delivered, c.left); got != c.want {
			t.Errorf("of %d deliveries, %d left: %d tries, want %d", c.delivered, c.left, got, c.want)
		}
	}
}

// A run whose body cannot be read is delivered again, but not for ever. It is given up under its own id.
func TestUnreadableIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := must.Get(memory.New())(t)
		q.Files.Broken = errors.New("the disk of the object store is broken")
		w := newWorker(q.Queue, Options{})
		for _, tries := range []string{"1", "3", "4"} {
			m := nats.NewMsg("brig.runs.normal.0.x")
			m.Sub, m.Reply = &nats.Subscription{}, "$JS.ACK.BRIG_RUNS.normal-0."+tries+".7.7.1700000000000000000.0"
			m.Header.Set("Brig-Object", "job.run_2")
			w.handle(m, func() {})
			if given := len(q.Sent.List) > 0; given != (tries == "4") {
				t.Fatalf("delivery %s: given up is %v", tries, given)
			}
		}
		m := q.Sent.List[0]
		if m.Subject != wire.DeadSubject+"run_2" || !strings.Contains(m.Header.Get("Brig-Reason"), "broken") {
			t.Errorf("it is given up as %s: %v", m.Subject, m.Header)
		}
	})
}

// A run whose caller has the result leaves a record if its acknowledgement is not confirmed: it must not start again.
func TestHandedWithoutConfirmation(t *testing.T) {
	q, handed := must.Get(memory.New())(t), 0
	q.Local.Set(func(id string, a *engine.Response) bool { handed++; return id == "run_5" && a != nil })
	d := &delivery{m: nats.NewMsg("x"), run: record.Run{ID: "run_5"}}
	newWorker(q.Queue, Options{}).closing.finish(d, &engine.Response{ID: "run_5"})
	if handed != 1 {
		t.Error("the caller does not have the result")
	}
	if r, err := q.Results.Find(t.Context(), record.ResultKey("run_5")); err != nil || r == nil || r.Result != nil {
		t.Errorf("the record is %v, %v", r, err)
	}
}
