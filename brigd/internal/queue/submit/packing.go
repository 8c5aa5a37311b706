package submit

import (
	"context"

	"brig/brigd/engine"
)

// A large request takes its size in memory several times while it is packed: as JSON, and in the pieces of an object.
// The budget of bodies counts it once. So few are packed at once, and one of each tenant.
const (
	large  = 1 << 20
	packed = 2
)

// packing bounds how many large requests are packed at once.
type packing struct {
	turns  turns // by tenant
	places chan struct{}
}

func newPacking() packing {
	return packing{newTurns(), make(chan struct{}, packed)}
}

// take waits for a turn to pack a request. The error is the cause of ctx.
func (p *packing) take(ctx context.Context, tenant string, r *engine.Request) (end func(), err error) {
	if sizeOf(r) < large {
		return func() {}, nil
	}
	last, err := p.turns.take(ctx, tenant)
	if err != nil {
		return nil, err
	}
	select {
	case p.places <- struct{}{}:
		return func() { <-p.places; last() }, nil
	case <-ctx.Done():
		last()
		return nil, context.Cause(ctx)
	}
}

// sizeOf returns about how many bytes a request has.
func sizeOf(r *engine.Request) int {
	n := len(r.Code) + len(r.Stdin)
	for _, f := range r.Files {
		n += len(f.Data)
	}
	for _, vars := range []map[string]string{r.Env, r.Secrets} {
		for _, value := range vars {
			n += len(value)
		}
	}
	for _, words := range [][]string{r.Cmd, r.Args} {
		for _, w := range words {
			n += len(w)
		}
	}
	return n
}
