package lease

import (
	"os"
	"strings"
	"testing"
	"time"

	"brig/brigd/job"
	"brig/brigd/token"
	"brig/internal/test/asuser"
	"brig/internal/test/must"
)

// TestMain runs the suite as root and again as an ordinary user.
func TestMain(m *testing.M) { os.Exit(asuser.Main(m)) }

// What no token has made does not end with one.
func TestLeasesWithoutAToken(t *testing.T) {
	l := New(nil)
	defer l.Close()
	l.Keep("sb_a", nil, time.Time{}, func(*job.Refusal) { t.Error("it ends") })
	past := time.Now().Add(-time.Hour)
	if l.Look(time.Now()); l.Ended(nil, past) != nil {
		t.Error("it has ended")
	}
	if no := l.Ended([]string{"a"}, past); no == nil || no.Code != "token_expired" {
		t.Errorf("a token's: %v", no)
	}
	ctx, release := l.Lend(t.Context(), nil, &job.Job{}, time.Now())
	if release(); ctx != t.Context() {
		t.Error("a run without a token has a context of its own")
	}
}

// What a token has made ends when the token expires: runs first.
func TestExpiredTokens(t *testing.T) {
	ledger := must.Get(token.OpenLedger(t.TempDir() + "/state"))(t)
	defer func() { must.Do(t, ledger.Close()) }()
	l := New(ledger)
	defer l.Close()
	var ended []string
	now := time.Now()
	end := func(id string) func(*job.Refusal) {
		return func(why *job.Refusal) { ended = append(ended, id+" "+why.Code); l.Drop(id) }
	}
	l.Keep("sb_a", []string{"a"}, now.Add(time.Second), end("sb_a"))
	l.Keep("sb_b", []string{"b"}, now.Add(time.Hour), end("sb_b"))
	l.live.Store("run_a", lease{chain: []string{"a"}, until: now.Add(time.Second), end: end("run_a")})
	l.Look(now.Add(time.Minute))
	if got := strings.Join(ended, ", "); got != "run_a token_expired, sb_a token_expired" {
		t.Error(got)
	}
}
