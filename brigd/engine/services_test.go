package engine

import (
	"context"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"brig/brigd/job"
	"brig/brigd/keep"
	"brig/brigd/lease"
	"brig/brigd/policy"
	"brig/brigd/token"
	"brig/brigd/workspace"
	"brig/internal/test/must"
	"brig/nsjail"
)

// aVault is a vault in memory that notes what is removed.
type aVault struct {
	memory
	removed []string
}

func (v *aVault) Remove(id string) error { v.removed = append(v.removed, id); return nil }

// packed returns the file of an empty snapshot.
func packed(t *testing.T, v vault, id string) *keep.File {
	t.Helper()
	return must.Get(v.Save(id, func(io.Writer) (any, error) { return map[string]string{"id": id}, nil }))(t)
}

// Snapshots are listed until they are removed or their token ends, and one that is in use is closed afterwards.
func TestListedSnapshots(t *testing.T) {
	space := workspace.NewStore(workspace.StoreOptions{MaxBytes: 1 << 20})
	defer func() { must.Do(t, space.Close()) }()
	ledger := must.Get(token.OpenLedger(t.TempDir() + "/state"))(t)
	defer func() { must.Do(t, ledger.Close()) }()
	v, l := &aVault{}, lease.New(ledger)
	defer l.Close()
	list := catalog(&listed{newSnapTable(), v, l, nil, func(string, string, error) { t.Error("a failure") }})
	now := time.Now()
	for id, until := range map[string]time.Time{"sn_a": {}, "sn_b": now.Add(time.Hour), "sn_c": now.Add(2 * time.Hour)} {
		s := &snapshot{SnapshotInfo: SnapshotInfo{ID: id}, chain: []string{id}, file: packed(t, v, id),
			hold: must.Get(space.Hold("me", 1))(t)}
		must.Do(t, list.publish(s, &kept{ID: id, Until: until}))
	}
	a, b := must.Get(list.find("sn_a"))(t), must.Get(list.find("sn_b"))(t)
	if s := must.Get(list.use(a))(t); s != a {
		t.Error("another snapshot is used")
	}
	removed := make(chan error)
	go func() { removed <- list.remove(a) }()
	select {
	case <-removed:
		t.Error("a snapshot in use is closed")
	case <-time.After(20 * time.Millisecond):
	}
	a.use.RUnlock()
	must.Do(t, <-removed)
	must.Do(t, list.remove(a)) // it is gone already
	l.Look(now.Add(time.Hour))
	if all := must.Get(list.all())(t); len(all) != 1 || !slices.Equal(v.removed, []string{"sn_a", "sn_b"}) || b.file != nil {
		t.Errorf("%d snapshots; removed: %q", len(all), v.removed)
	}
	if s := must.Get(list.find("sn_a"))(t); s != nil {
		t.Error("it is still there")
	}
	must.Do(t, list.close())
}

// What a caller's request must be allowed by: the operator's policies, those of the brigd that took it, the token's.
func TestPoliciesOfACaller(t *testing.T) {
	p := func(name string) *policy.Policy { return &policy.Policy{Name: name} }
	own := policies{p("own")}
	for want, c := range map[string]Caller{
		"own ":       {Agent: "a"},
		"own taken ": {Rules: &Rules{policies: []*policy.Policy{p("taken")}}},
		"own token ": {Grant: &Grant{policies: []*policy.Policy{p("token")}}},
		"own both token ": {Rules: &Rules{policies: []*policy.Policy{p("both")}},
			Grant: &Grant{policies: []*policy.Policy{p("token")}}},
	} {
		got := ""
		for _, p := range own.of(c) {
			got += p.Name + " "
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	var asked []string
	no := append(own, p("b"), p("c")).each(Caller{}, func(p *policy.Policy) *job.Refusal {
		if asked = append(asked, p.Name); p.Name == "b" {
			return bad("no", "", "b refuses")
		}
		return nil
	})
	if no == nil || fmt.Sprint(asked) != "[own b]" {
		t.Errorf("%v; %q were asked", no, asked)
	}
}

// named is an Executor that returns its name.
type named string

func (n named) Execute(context.Context, *job.Job) (*nsjail.Result, error) {
	return &nsjail.Result{Signal: string(n)}, nil
}

// A Job is run by the Executor that it brings, or else by the engine's.
func TestTheEndOfTheChain(t *testing.T) {
	o := Options{Wrap: func(next job.Executor) job.Executor { return next }}
	for want, j := range map[string]*job.Job{"jails": {}, "run": {By: named("run")}} {
		if r := must.Get(o.chain(named("jails")).Execute(t.Context(), j))(t); r.Signal != want {
			t.Errorf("%s, want %s", r.Signal, want)
		}
	}
}

// A run releases what it holds, the last first.
func TestRunReleases(t *testing.T) {
	var order []int
	x := &run{}
	for i := range 3 {
		x.ends = append(x.ends, func() { order = append(order, i) })
	}
	if x.release(); !slices.Equal(order, []int{2, 1, 0}) {
		t.Error(order)
	}
}
