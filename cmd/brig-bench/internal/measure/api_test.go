package measure

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Without a brigd beside brig the table has a row that names the reason.
func TestAPIWithoutBrigd(t *testing.T) {
	table, err := api().Run(t.Context(), &Env{Quick: true, Progress: quiet, Brig: t.TempDir() + "/brig", Dir: t.TempDir()})
	if err != nil || len(table.Rows) != 0 || len(table.Notes) != 1 || !strings.Contains(table.Notes[0], "make build") {
		t.Errorf("%+v %v", table, err)
	}
}

// A turn counts what was answered after the first of each client, and a run that did not go well ends it.
func TestAPITurn(t *testing.T) {
	var asked atomic.Int64
	status := "ok"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte(`{"status":"` + status + `"}`))
	}))
	defer s.Close()
	client := &http.Client{Transport: &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return url.Parse(s.URL) }}}
	var c cell
	if err := c.turn(t.Context(), client, "{}", 4, 20*time.Millisecond); err != nil || int64(len(c.took)) != asked.Load()-4 || c.lasted <= 0 {
		t.Errorf("%d of %d in %v: %v", len(c.took), asked.Load(), c.lasted, err)
	}
	status = "failed"
	if err := c.turn(t.Context(), client, "{}", 4, time.Hour); err == nil || !strings.Contains(err.Error(), "failed") {
		t.Errorf("%v", err)
	}
}
