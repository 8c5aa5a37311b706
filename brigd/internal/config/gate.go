package config

import (
	"cmp"
	"runtime"

	"brig/brigd/internal/admit"
	"brig/internal/cli"
)

// Gate are the settings of how many runs there are at once, of how many wait, and of how often one caller may ask.
type Gate struct{ admit.Options }

func defaultGate() Gate { return Gate{admit.Options{Queue: 1024, QueuePerCaller: 512}} }

func (g *Gate) flags() []cli.Flag {
	return []cli.Flag{
		{Name: "running", Path: "queue.running", Args: "N", To: &g.Running, Min: 1, Max: maxCount,
			Help: "runs at once"},
		{Name: "per-caller", Path: "queue.per_caller", Args: "N", To: &g.PerCaller, Max: maxCount,
			Help: "runs of one caller at once; 0 is three quarters of all, at least 1"},
		{Name: "queue", Path: "queue.waiting", Args: "N", To: &g.Queue, Max: maxCount, Help: "runs that may wait; 0 is none"},
		{Name: "queue-per-caller", Path: "queue.waiting_per_caller", Args: "N", To: &g.QueuePerCaller, Max: maxCount,
			Help: "runs of one caller that may wait; 0 is as many as all"},
		{Name: "rate", Path: "queue.rate", Args: "N", To: &g.Rate, Max: 1e6,
			Help: "runs a second that one caller may ask for; 0 is no bound"},
		{Name: "burst", Path: "queue.burst", Args: "N", To: &g.Burst, Max: maxCount,
			Help: "runs that one caller may ask for at once; 0 is as many as in a second"},
	}
}

// Places returns how many runs may be under way at once.
func (g *Gate) Places() int {
	if g.Running == 0 {
		return 2 * runtime.NumCPU()
	}
	return g.Running
}

// CallerPlaces returns how many of Places one caller may have, as package admit does.
func (g *Gate) CallerPlaces() int { return cmp.Or(g.PerCaller, max(1, g.Places()*3/4)) }

func (g *Gate) check(set given) error {
	return cmp.Or(
		wrong(g.PerCaller > g.Places(), "queue.per_caller", moreThanAll, g.PerCaller, "running", g.Places(), "all"),
		wrong(set.has("queue.waiting_per_caller") && g.QueuePerCaller > g.Queue, "queue.waiting_per_caller", moreThanAll,
			g.QueuePerCaller, "queue", g.Queue, "all"),
		wrong(g.Burst > 0 && g.Rate == 0, "queue.burst", " needs a rate; add --rate N"))
}
