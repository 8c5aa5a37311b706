package queue

import (
	"context"
	"errors"
	"io"

	"github.com/nats-io/nats.go/jetstream"

	"brig/brigd/internal/queue/retry"
)

// Snapshots keeps the snapshots of all workers, as objects with their headers as metadata. It is an engine.Pool.
type Snapshots struct{ snaps jetstream.ObjectStore }

// Snapshots returns those of the queue.
func (q *Queue) Snapshots() Snapshots { return Snapshots{q.snaps} }

// header is the key of a snapshot's header in the metadata of its object.
const header = "brig"

// while calls do until it succeeds or a minute has passed, and returns a refusal if it does not. size is how many
// bytes it moves.
func (s Snapshots) while(size int64, do func(context.Context) error) error {
	if err := retry.Do(context.Background(), retry.Start, int(size), do); err != nil {
		return retry.Unavailable(err)
	}
	return nil
}

// Put implements engine.Pool.
func (s Snapshots) Put(id string, text []byte, file *io.SectionReader) error {
	return s.while(file.Size(), func(ctx context.Context) error {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		_, err := s.snaps.Put(ctx, jetstream.ObjectMeta{Name: id, Metadata: map[string]string{header: string(text)}}, file)
		return err
	})
}

// Get implements engine.Pool.
func (s Snapshots) Get(id string) (io.ReadCloser, error) {
	info, err := s.snaps.GetInfo(context.Background(), id)
	if err != nil {
		return nil, retry.Unavailable(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), retry.Start+retry.Slow(int(info.Size)))
	o, err := s.snaps.Get(ctx, id)
	if err != nil {
		cancel()
		return nil, retry.Unavailable(err)
	}
	return object{o, cancel}, nil
}

// object is one that is read.
type object struct {
	jetstream.ObjectResult
	end func()
}

// Close implements io.Closer.
func (o object) Close() error { defer o.end(); return o.ObjectResult.Close() }

// Header implements engine.Pool.
func (s Snapshots) Header(id string) (text []byte, err error) {
	err = s.while(0, func(ctx context.Context) error {
		info, err := s.snaps.GetInfo(ctx, id)
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			return nil
		}
		if err == nil {
			text = []byte(info.Metadata[header])
		}
		return err
	})
	return text, err
}

// Headers implements engine.Pool.
func (s Snapshots) Headers() (list [][]byte, err error) {
	err = s.while(0, func(ctx context.Context) error {
		all, err := s.snaps.List(ctx)
		if errors.Is(err, jetstream.ErrNoObjectsFound) {
			return nil
		}
		list = nil
		for _, info := range all {
			list = append(list, []byte(info.Metadata[header]))
		}
		return err
	})
	return list, err
}

// Remove implements engine.Pool.
func (s Snapshots) Remove(id string) error {
	return s.while(0, func(ctx context.Context) error {
		err := s.snaps.Delete(ctx, id)
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			return nil
		}
		return err
	})
}
