package api

import "brig/brigd/internal/front"

// handlers answer requests, by subject. Each holds what it uses; a new subject is one more of them, and its routes.
type handlers struct {
	runs      runHandlers
	queue     queueHandlers
	boxes     boxHandlers
	snapshots snapshotHandlers
	processes processHandlers
	files     fileHandlers
	tools     toolHandlers
	search    searchHandlers
	ports     portHandlers
	changes   changeHandlers
	offers    offerHandlers
	meta      metaHandlers
}

func newHandlers(o *front.Options) *handlers {
	h := &handlers{
		queue:     queueHandlers{o.Queue},
		boxes:     boxHandlers{o.Engine, o.Gate, o.Live, o.Runs},
		snapshots: snapshotHandlers{o.Engine},
		processes: processHandlers{o.Engine, o.Gate, o.BodyTime},
		files:     fileHandlers{o.Engine, o.Engine, o.MaxFile, o.BodyTime},
		tools:     toolHandlers{o.Engine},
		search:    searchHandlers{o.Engine, front.NewBudget(maxWatches, 4)},
		ports:     portHandlers{o.Engine, o.BodyTime, portWait, o.Links, o.OpenPort, o.Credential},
		changes:   changeHandlers{o.Engine},
		offers:    offerHandlers{o.Engine},
		meta:      metaHandlers{of: o.Version, ready: o.Ready, details: o.Health, prometheus: o.Metrics},
	}
	h.runs = runHandlers{o.Engine, o.Admit, o.Gate, &h.queue, o.Live, &going{}, o.BodyTime}
	return h
}
