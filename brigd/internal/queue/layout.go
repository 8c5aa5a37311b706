package queue

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	runsStream    = "BRIG_RUNS"
	deadStream    = "BRIG_DEAD"
	resultsBucket = "BRIG_RESULTS"
	revokedBucket = "BRIG_REVOKED"
	filesBucket   = "BRIG_FILES"
	largeBucket   = "BRIG_LARGE"
	workersBucket = "BRIG_WORKERS"
	snapsBucket   = "BRIG_SNAPSHOTS"

	runsSubject   = "brig.runs."
	deadSubject   = "brig.dead."
	wakeSubject   = "brig.wake."
	cancelSubject = "brig.cancel."
	workerSubject = "brig.worker."
	dialSubject   = "brig.dial."
	placeSubject  = "brig.place"

	keepDead = 30 * 24 * time.Hour
	// duplicates is how long the server recognizes a run that was published twice. Later ones are recognized by their
	// result.
	duplicates = 2 * time.Minute
)

// lane is a part of the tenants of a class.
type lane struct {
	class  string
	number int
}

// classes are the priorities, the highest first, each with the number of its lanes.
var classes = []struct {
	name  string
	lanes int
}{{"high", 2}, {"normal", 8}, {"low", 2}}

// lanes returns all lanes, those of the highest class first.
func lanes() (list []lane) {
	for _, c := range classes {
		for i := range c.lanes {
			list = append(list, lane{c.name, i})
		}
	}
	return list
}

// laneOf returns the lane of a tenant for an urgency: see engine.Request.
func laneOf(urgency int, tenant string) lane {
	c := classes[1-max(-1, min(1, urgency))]
	return lane{c.name, numberOf(tenant, c.lanes)}
}

// numberOf returns the number of a tenant's lane, of so many.
func numberOf(tenant string, lanes int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(tenant)) // a hash.Hash never fails
	return int(h.Sum32() % uint32(lanes))
}

// consumer returns the name of the lane's consumer.
func (l lane) consumer() string { return l.class + "-" + strconv.Itoa(l.number) }

// token returns what subjects of the lane have.
func (l lane) token() string { return l.class + "." + strconv.Itoa(l.number) }

// digest returns a text that stands for another in subjects and keys: 26 letters and digits.
func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16]))
}

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
	replicas := max(1, q.o.Replicas)
	if q.runs, err = q.stream(ctx, jetstream.StreamConfig{Name: runsStream, Subjects: []string{runsSubject + ">"},
		Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage, Replicas: replicas,
		Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxMsgs: int64(cmp.Or(q.o.Queued, 1024)),
		MaxMsgsPerSubject: int64(cmp.Or(q.o.QueuedPerTenant, 512)), Duplicates: duplicates,
		RePublish: &jetstream.RePublish{Source: runsSubject + ">", Destination: wakeSubject + ">",
			HeadersOnly: true}}); err != nil {
		return err
	}
	if _, err = q.stream(ctx, jetstream.StreamConfig{Name: deadStream, Subjects: []string{deadSubject + ">"},
		Retention: jetstream.LimitsPolicy, Storage: jetstream.FileStorage, Replicas: replicas, MaxAge: keepDead,
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardOld}); err != nil {
		return err
	}
	for _, l := range lanes() {
		if err = q.consumer(ctx, l); err != nil {
			return err
		}
	}
	keep := cmp.Or(q.o.KeepResults, DefaultKeepResults)
	if q.results, err = q.bucket(ctx, resultsBucket, keep, replicas, q.o.bytesOf()); err != nil {
		return err
	}
	if q.revoked, err = q.bucket(ctx, revokedBucket, 0, replicas, -1); err != nil {
		return err
	}
	if q.present, err = q.bucket(ctx, workersBucket, keepWorker, replicas, -1); err != nil {
		return err
	}
	if q.snaps, err = q.objects(ctx, snapsBucket, 0, replicas, -1); err != nil {
		return err
	}
	if q.large, err = q.objects(ctx, largeBucket, keep, replicas, q.o.bytesOf()); err != nil {
		return err
	}
	q.files, err = q.objects(ctx, filesBucket, keepDead, replicas, q.o.bytesOf())
	return err
}

// stream makes a stream, or checks the one that is there.
func (q *Queue) stream(ctx context.Context, want jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := q.js.CreateStream(ctx, want)
	if err == nil || !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return s, err
	}
	if s, err = q.js.Stream(ctx, want.Name); err != nil {
		return nil, err
	}
	is := s.CachedInfo().Config
	if is.Retention != want.Retention || is.Storage != want.Storage || !slices.Equal(is.Subjects, want.Subjects) ||
		is.Discard != want.Discard || (is.RePublish == nil) != (want.RePublish == nil) {
		return nil, &layoutError{"stream " + want.Name, "its retention, storage, subjects, discard policy or what it " +
			"publishes again is another"}
	}
	if want.Name != runsStream || q.o.Queued == 0 ||
		is.MaxMsgs == want.MaxMsgs && is.MaxMsgsPerSubject == want.MaxMsgsPerSubject {
		return s, nil
	}
	is.MaxMsgs, is.MaxMsgsPerSubject = want.MaxMsgs, want.MaxMsgsPerSubject
	return q.js.UpdateStream(ctx, is)
}

// consumer makes the consumer of a lane, or checks the one that is there. It is never changed: a work queue can lose
// messages when its consumers change (nats-server issue 5638).
func (q *Queue) consumer(ctx context.Context, l lane) error {
	want := jetstream.ConsumerConfig{Durable: l.consumer(), FilterSubject: runsSubject + l.token() + ".>",
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: cmp.Or(q.o.AckWait, DefaultAckWait), MaxDeliver: -1,
		MaxAckPending: -1}
	c, err := q.runs.CreateConsumer(ctx, want)
	if errors.Is(err, jetstream.ErrConsumerExists) {
		c, err = q.runs.Consumer(ctx, want.Durable)
	}
	if err != nil {
		return err
	}
	is := c.CachedInfo().Config
	if is.FilterSubject != want.FilterSubject || is.AckPolicy != want.AckPolicy || is.MaxDeliver > 0 || is.AckWait <= 0 {
		return &layoutError{"consumer " + want.Durable, "its filter, acknowledgement or number of deliveries is another"}
	}
	q.ackWait = is.AckWait
	return nil
}

func (q *Queue) bucket(ctx context.Context, name string, keep time.Duration, replicas int, most int64) (
	jetstream.KeyValue, error) {
	b, err := q.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: name, TTL: keep, Replicas: replicas,
		Storage: jetstream.FileStorage, History: 1, MaxBytes: most})
	if errors.Is(err, jetstream.ErrBucketExists) {
		return q.js.KeyValue(ctx, name)
	}
	return b, err
}

func (q *Queue) objects(ctx context.Context, name string, keep time.Duration, replicas int, most int64) (
	jetstream.ObjectStore, error) {
	b, err := q.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: name, Replicas: replicas, TTL: keep,
		MaxBytes: most})
	if errors.Is(err, jetstream.ErrBucketExists) {
		return q.js.ObjectStore(ctx, name)
	}
	return b, err
}
