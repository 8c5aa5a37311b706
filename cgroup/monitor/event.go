package monitor

import (
	"slices"
	"strconv"
)

// Kind is what happened.
type Kind int

// The kinds of events. Which of them a group can give is Monitor.Kinds's to say.
const (
	OOM        Kind = iota // an allocation failed at a memory limit, after reclaiming
	OOMKill                // the kernel killed a process for that
	MemoryHigh             // usage came above memory.high: processes were slowed down to reclaim
	MemoryMax              // usage was about to go over memory.max
	PidsMax                // a clone failed at the limit of tasks
	Populated              // the group, or one below it, has a process now
	Empty                  // there is none now
)

var kindNames = [...]string{"oom", "oom_kill", "memory_high", "memory_max", "pids_max", "populated", "empty"}

// String is the kind's name: oom, oom_kill, memory_high, memory_max, pids_max, populated, empty.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return "kind " + strconv.Itoa(int(k))
	}
	return kindNames[k]
}

// Event says that something happened since the last event of its kind.
type Event struct {
	Kind Kind
	// Count is how often it happened: more than once where the kernel or a slow reader has joined several into one.
	Count uint64
}

// queue holds what the reader has not taken yet: one entry a kind, so it cannot grow.
type queue []Event

// add joins an event to a waiting one of its kind. States go to the end, so that the last one read is the present one.
func (q *queue) add(k Kind, n uint64) {
	e := Event{k, n}
	at := slices.IndexFunc(*q, func(e Event) bool { return e.Kind == k })
	switch {
	case at < 0:
	case k == Populated || k == Empty:
		e.Count += (*q)[at].Count
		*q = slices.Delete(*q, at, at+1)
	default:
		(*q)[at].Count += n
		return
	}
	*q = append(*q, e)
}

// counter is a number in a file whose growth is an event.
type counter struct {
	key  string
	kind Kind
}

// source is a file of counters and states.
type source struct {
	dir      *dir
	name     string
	counters []counter
	notifies bool // that it changes can be waited for with inotify(7)
	untold   bool // or not on every kernel, nor in another way
}

// sources are the files that this group has.
func (m *Monitor) sources() (list []source) {
	var all []source
	if d := m.v2; d != nil {
		all = append(all,
			source{d, "memory.events", []counter{{"high", MemoryHigh}, {"max", MemoryMax}, {"oom", OOM}, {"oom_kill", OOMKill}}, true, false},
			source{d, "pids.events", []counter{{"max", PidsMax}}, true, false},
			source{d, stateFile, nil, true, false})
	}
	if d := m.v1["memory"]; d != nil {
		all = append(all, source{d, noticeFile, []counter{{"oom_kill", OOMKill}}, false, false})
	}
	if d := m.v1["pids"]; d != nil {
		all = append(all, source{d, "pids.events", []counter{{"max", PidsMax}}, true, true})
	}
	for _, s := range all {
		if s.dir.has(s.name) {
			list = append(list, s)
		}
	}
	return list
}

// stateFile says whether the group has processes; noticeFile is what version 1's notices of OOM are about.
const (
	stateFile  = "cgroup.events"
	noticeFile = "memory.oom_control"
)

// Kinds are the kinds of events that this group's layout and kernel can give, in the order of their declaration.
func (m *Monitor) Kinds() (list []Kind) {
	for _, s := range m.sources() {
		for _, c := range s.counters {
			list = append(list, c.kind)
		}
		switch s.name {
		case stateFile:
			list = append(list, Populated, Empty)
		case noticeFile:
			list = append(list, OOM)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
