package tenants

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"brig/changes"
	"brig/internal/test/asuser"
	"brig/internal/test/must"
)

// TestMain runs the suite as root and again as an ordinary user.
func TestMain(m *testing.M) { os.Exit(asuser.Main(m)) }

// The sets of an owner who never runs anything again are removed when they are too old: when brigd starts, and a day
// later by a run of anybody.
func TestChangesOfTheGone(t *testing.T) {
	dir := t.TempDir()
	tenants, err := Open(dir + "/store")
	if err != nil {
		t.Fatal(err)
	}
	keep := func(agent string, age time.Duration) {
		t.Helper()
		upper := must.Get(os.Open(t.TempDir()))(t)
		defer upper.Close()
		store, done, err := tenants.Use(Owner{Agent: agent, Account: agent}, true)
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		must.Do(t, os.WriteFile(upper.Name()+"/x", []byte("x"), 0o600))
		base := must.Get(os.Open(t.TempDir()))(t)
		defer base.Close()
		ended := time.Now().Add(-age)
		if _, err := store.Capture(context.Background(), base, upper, base.Name(), &changes.Run{Started: ended, Ended: ended}); err != nil {
			t.Fatal(err)
		}
	}
	owners := func() int { return len(tenants.List(func(Owner) bool { return true })) }
	keep("gone", maxChangesAge+time.Hour)
	keep("here", time.Hour)
	if n := owners(); n != 2 {
		t.Fatal(n)
	}
	if tenants, err = Open(dir + "/store"); err != nil || owners() != 1 {
		t.Errorf("after a start: %d, %v", owners(), err)
	}
	must.Do(t, os.WriteFile(dir+"/store/0.json", []byte(`{"agent":"x"}`), 0o600))
	if _, err = Open(dir + "/store"); err == nil || !strings.Contains(err.Error(), "written: it has the name of another owner; remove it") {
		t.Error(err)
	}
	must.Do(t, os.Remove(dir+"/store/0.json"))
	keep("gone", maxChangesAge+time.Hour)
	tenants.swept = tenants.swept.Add(-sweepEvery)
	if err := tenants.Trim("here"); err != nil || owners() != 1 {
		t.Errorf("after a day: %d, %v", owners(), err)
	}
}
