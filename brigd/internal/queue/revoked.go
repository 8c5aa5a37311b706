package queue

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"brig/brigd/internal/queue/retry"
	"brig/brigd/token"
)

// ShareRevocations makes tokens that are revoked here revoked for all brigds of the queue, and the other way, until ctx
// ends. dir is the directory of the ledger.
func (q *Queue) ShareRevocations(ctx context.Context, dir string) {
	known := map[string]bool{} // ids that the bucket has
	for tick := time.NewTicker(time.Second); ; {
		if err := q.shareRevocations(ctx, dir, known); err != nil && ctx.Err() == nil {
			q.Options.Logger.Warn("revoked tokens are not exchanged with the queue", "error", err)
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
	}
}

func (q *Queue) shareRevocations(ctx context.Context, dir string, known map[string]bool) error {
	ctx, cancel := context.WithTimeout(ctx, retry.Soon)
	defer cancel()
	keys, err := q.revoked.Keys(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoKeysFound) {
		return err
	}
	var failed []error // what is wrong with one must not keep the others
	for _, id := range keys {
		if known[id] {
			continue
		}
		if err := token.Revoke(dir, id, "revoked at another brigd of the queue", time.Time{}); err != nil {
			failed = append(failed, err)
			continue
		}
		known[id] = true
	}
	own, err := os.ReadDir(filepath.Join(dir, token.RevokedDir))
	for _, e := range own {
		if known[e.Name()] {
			continue
		}
		if _, err := q.revoked.PutString(ctx, e.Name(), ""); err != nil {
			failed = append(failed, err)
			continue
		}
		known[e.Name()] = true
	}
	return errors.Join(append(failed, err)...)
}
