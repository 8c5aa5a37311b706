package retry

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A large object has more time than a small message.
func TestLargeHasMoreTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := Do(t.Context(), Patience, 100<<20, func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(90 * time.Second): // slower than a MiB a second
				return nil
			}
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// What fails is tried again until it succeeds, the limit is over, the caller has gone, or another try cannot help.
func TestDo(t *testing.T) {
	broken := errors.New("broken")
	for what, c := range map[string]struct {
		fails int // so many tries
		with  error
		gone  bool
		tries int
		err   error
	}{
		"at once":   {tries: 1},
		"the third": {fails: 2, with: broken, tries: 3},
		"too late":  {fails: 1000, with: broken, tries: 6, err: broken},
		"permanent": {fails: 1000, with: fmt.Errorf("%w: no JSON", ErrPermanent), tries: 1, err: ErrPermanent},
		"gone":      {fails: 1000, with: broken, gone: true, tries: 1, err: broken},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			tries := 0
			err := Do(ctx, 2*time.Second, 0, func(context.Context) error {
				if c.gone {
					cancel()
				}
				if tries++; tries <= c.fails {
					return c.with
				}
				return nil
			})
			if tries != c.tries || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Errorf("%s: %d tries, %v", what, tries, err)
			}
		})
	}
}
