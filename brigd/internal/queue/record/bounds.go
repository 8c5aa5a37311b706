package record

import (
	"errors"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// part is how much of the server's store each of three may have: requests' bodies that are large, results, and results
// that are large. A quarter is left for the queue itself, so that what was accepted can run and leave it. One tenant
// has at most a quarter of a part.
const part = 4

// unknown is how many bytes of a part one tenant may have of a server whose size is not known.
const unknown = 1 << 30

// headroom is what a message needs besides its body, in bytes.
const headroom = 8 << 10

// Bounds are those of messages and of the server's store.
type Bounds struct {
	// Store is how many bytes the server keeps at most; 0 and below is not known.
	Store int64
	// Queued is how many runs may be in the queue; 0 is not known.
	Queued int
	// Payload returns how many bytes a message may have.
	Payload func() int64
}

// Whole returns the store of which a part has so many bytes.
func Whole(bytes int64) int64 { return max(0, bytes) * part }

// Part returns how many bytes a part of the store may have; -1 is no bound.
func (b *Bounds) Part() int64 {
	if b.Store <= 0 {
		return -1
	}
	return b.Store / part
}

// Tenant returns how many bytes of a part one tenant may have.
func (b *Bounds) Tenant() int64 {
	if b.Store <= 0 {
		return unknown
	}
	return b.Part() / part
}

// Fit reports whether a text fits into a message. In a small store, so many of the runs that may wait must fit, too.
func (b *Bounds) Fit(text []byte) bool {
	most := b.Payload() - headroom
	if b.Store > 0 && b.Queued > 0 {
		most = min(most, max(headroom, b.Store/2/part/int64(b.Queued)))
	}
	return int64(len(text)) <= most
}

// Overfull reports whether an error is that a stream has as many bytes as it may have.
func Overfull(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && strings.HasPrefix(api.Description, "maximum bytes")
}
