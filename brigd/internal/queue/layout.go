package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"brig/brigd/internal/queue/lane"
	"brig/brigd/internal/queue/record"
	"brig/brigd/internal/queue/wire"
)

const (
	revokedBucket = "BRIG_REVOKED"
	filesBucket   = "BRIG_FILES"
	largeBucket   = "BRIG_LARGE"
	workersBucket = "BRIG_WORKERS"
	snapsBucket   = "BRIG_SNAPSHOTS"

	keepDead = 30 * 24 * time.Hour
	// KeepWorker is how long a worker that is silent stays in the list of those that may have sandboxes.
	KeepWorker = time.Minute
	// duplicates is how long the server recognizes a run that was published twice. Later ones are recognized by their
	// result.
	duplicates = 2 * time.Minute
)

// layoutError means that a stream or consumer of brig's name is not as brig makes it.
type layoutError struct{ what, how string }

func (e *layoutError) Error() string {
	return fmt.Sprintf("the queue's %s is not as brigd makes it: %s; remove it (nats stream rm), or use another account",
		e.what, e.how)
}

// make makes what the queue lacks, and checks what is there. It changes nothing of an existing queue but the bounds on
// the number of runs.
func (q *Queue) make(ctx context.Context) (err error) {
	q.learn(ctx)
	replicas := max(1, q.Options.Replicas)
	if q.Runs, err = q.stream(ctx, jetstream.StreamConfig{Name: wire.Runs, Subjects: []string{wire.RunsSubject + ">"},
		Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage, Replicas: replicas,
		Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxMsgs: int64(cmp.Or(q.Options.Queued, 1024)),
		MaxMsgsPerSubject: int64(cmp.Or(q.Options.QueuedPerTenant, 512)), Duplicates: duplicates,
		RePublish: &jetstream.RePublish{Source: wire.RunsSubject + ">", Destination: wire.WakeSubject + ">",
			HeadersOnly: true}}); err != nil {
		return err
	}
	if _, err = q.stream(ctx, jetstream.StreamConfig{Name: wire.Dead, Subjects: []string{wire.DeadSubject + ">"},
		Retention: jetstream.LimitsPolicy, Storage: jetstream.FileStorage, Replicas: replicas, MaxAge: keepDead,
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardOld}); err != nil {
		return err
	}
	for _, l := range lane.All() {
		if err = q.consumer(ctx, l); err != nil {
			return err
		}
	}
	keep := cmp.Or(q.Options.KeepResults, DefaultKeepResults)
	results, err := q.bucket(ctx, record.Bucket, keep, replicas, q.Bounds.Part())
	if err != nil {
		return err
	}
	if q.revoked, err = q.bucket(ctx, revokedBucket, 0, replicas, -1); err != nil {
		return err
	}
	if q.Present, err = q.bucket(ctx, workersBucket, KeepWorker, replicas, -1); err != nil {
		return err
	}
	if q.snaps, err = q.objects(ctx, snapsBucket, 0, replicas, -1); err != nil {
		return err
	}
	large, err := q.objects(ctx, largeBucket, keep, replicas, q.Bounds.Part())
	if err != nil {
		return err
	}
	files, err := q.objects(ctx, filesBucket, keepDead, replicas, q.Bounds.Part())
	if err != nil {
		return err
	}
	q.Keep(results, large, files)
	return nil
}

// Keep sets where what is known of runs is kept: records, and objects of results and of requests.
func (q *Queue) Keep(results jetstream.KeyValue, large, files jetstream.ObjectStore) {
	q.Keys = record.NewKeys(results)
	q.Results = record.NewResults(q.JS, q.Keys, large, q.Bounds, q.Options.Logger)
	q.Bodies = record.NewBodies(files, q.Bounds, q.Options.Logger)
}

// learn finds how many bytes a server at an address keeps: what the brigd knew that has made the queue, or the
// account's limit. Without either it stays unknown.
func (q *Queue) learn(ctx context.Context) {
	if q.Bounds.Store != 0 {
		return
	}
	if s, err := q.JS.Stream(ctx, "OBJ_"+filesBucket); err == nil {
		q.Bounds.Store = record.Whole(s.CachedInfo().Config.MaxBytes)
		return
	}
	info, err := q.JS.AccountInfo(ctx)
	if err != nil {
		return // make meets the same error, and returns it
	}
	replicas := max(1, q.Options.Replicas)
	if tier, ok := info.Tiers["R"+strconv.Itoa(replicas)]; ok { // its limit is for one of the replicas
		q.Bounds.Store = max(0, tier.Limits.MaxStore)
	} else {
		q.Bounds.Store = max(0, info.Limits.MaxStore) / int64(replicas)
	}
}

// stream makes a stream, or checks the one that is there.
func (q *Queue) stream(ctx context.Context, want jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := q.JS.CreateStream(ctx, want)
	if err == nil || !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return s, err
	}
	if s, err = q.JS.Stream(ctx, want.Name); err != nil {
		return nil, err
	}
	is := s.CachedInfo().Config
	if is.Retention != want.Retention || is.Storage != want.Storage || !slices.Equal(is.Subjects, want.Subjects) ||
		is.Discard != want.Discard || (is.RePublish == nil) != (want.RePublish == nil) {
		return nil, &layoutError{"stream " + want.Name, "its retention, storage, subjects, discard policy or what it " +
			"publishes again is another"}
	}
	if want.Name != wire.Runs || q.Options.Queued == 0 ||
		is.MaxMsgs == want.MaxMsgs && is.MaxMsgsPerSubject == want.MaxMsgsPerSubject {
		return s, nil
	}
	is.MaxMsgs, is.MaxMsgsPerSubject = want.MaxMsgs, want.MaxMsgsPerSubject
	return q.JS.UpdateStream(ctx, is)
}

// consumer makes the consumer of a lane, or checks the one that is there. It is never changed: a work queue can lose
// messages when its consumers change (nats-server issue 5638).
func (q *Queue) consumer(ctx context.Context, l lane.Lane) error {
	want := jetstream.ConsumerConfig{Durable: l.Consumer(), FilterSubject: wire.RunsSubject + l.Token() + ".>",
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: cmp.Or(q.Options.AckWait, DefaultAckWait), MaxDeliver: -1,
		MaxAckPending: -1}
	c, err := q.Runs.CreateConsumer(ctx, want)
	if errors.Is(err, jetstream.ErrConsumerExists) {
		c, err = q.Runs.Consumer(ctx, want.Durable)
	}
	if err != nil {
		return err
	}
	is := c.CachedInfo().Config
	if is.FilterSubject != want.FilterSubject || is.AckPolicy != want.AckPolicy || is.MaxDeliver > 0 || is.AckWait <= 0 {
		return &layoutError{"consumer " + want.Durable, "its filter, acknowledgement or number of deliveries is another"}
	}
	q.AckWait = is.AckWait
	return nil
}

func (q *Queue) bucket(ctx context.Context, name string, keep time.Duration, replicas int, most int64) (
	jetstream.KeyValue, error) {
	b, err := q.JS.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: name, TTL: keep, Replicas: replicas,
		Storage: jetstream.FileStorage, History: 1, MaxBytes: most})
	if errors.Is(err, jetstream.ErrBucketExists) {
		return q.JS.KeyValue(ctx, name)
	}
	return b, err
}

func (q *Queue) objects(ctx context.Context, name string, keep time.Duration, replicas int, most int64) (
	jetstream.ObjectStore, error) {
	b, err := q.JS.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: name, Replicas: replicas, TTL: keep,
		MaxBytes: most})
	if errors.Is(err, jetstream.ErrBucketExists) {
		return q.JS.ObjectStore(ctx, name)
	}
	return b, err
}
