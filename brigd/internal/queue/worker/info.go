package worker

import (
	"os"
	"runtime"
	"strings"

	"github.com/nats-io/nats.go/micro"

	"brig/brigd/engine"
	"brig/brigd/internal/front"
	"brig/brigd/internal/queue/wire"
)

// Info returns what the worker tells of itself.
func (w *Worker) Info() front.WorkerInfo {
	host, _ := os.Hostname() // "" if it has none
	i := front.WorkerInfo{Worker: w.q.Name(), Host: host, Arch: runtime.GOARCH, Version: w.q.Options.Version,
		Languages: []engine.Language{}, Slots: w.o.Slots, Running: w.Running(), ShortOf: w.Short()}
	if list := w.languages.Load(); list != nil {
		i.Languages = *list
	}
	i.Taken, i.Again, i.Dead, i.Late = w.Counts()
	return i
}

// publish makes the worker a micro service of NATS: `nats micro info brigd` lists the workers.
func (w *Worker) publish() error {
	s, err := micro.AddService(w.q.Conn, micro.Config{Name: "brigd", Version: semantic(w.q.Options.Version),
		Description: "runs untrusted programs from the queue of brigd", Metadata: map[string]string{"worker": w.q.Name()},
		StatsHandler: func(*micro.Endpoint) any { return w.Info() }})
	if err != nil {
		return err
	}
	tell := micro.HandlerFunc(func(r micro.Request) {
		if err := r.RespondJSON(w.Info()); err != nil {
			w.q.Options.Logger.Debug("the load is not told", "error", err)
		}
	})
	return s.AddEndpoint("all", tell, micro.WithEndpointSubject(wire.WorkerSubject+"all"),
		micro.WithEndpointQueueGroupDisabled())
}

// semantic returns a version of three numbers, which micro services must have.
func semantic(v string) string {
	v, _, _ = strings.Cut(strings.TrimPrefix(v, "v"), " ")
	if strings.Count(v, ".") != 2 {
		return "0.0.0"
	}
	return v
}
