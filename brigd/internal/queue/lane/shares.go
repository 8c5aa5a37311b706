package lane

import "time"

// shares counts the runs of each tenant that a worker has taken. One tenant has a part of the slots, as it has of the
// places: a lane with a tenant who has his part is closed, unless it has a run of somebody else.
type shares struct {
	most   int // slots of one tenant; 0 is no bound
	held   map[string]int
	probes map[Lane]*probe // of closed lanes
}

// probe is what is known of a closed lane.
type probe struct {
	open  bool          // it has a run of somebody else, which is looked for
	next  time.Time     // when it may be looked at again
	pause time.Duration // after a look in vain
}

const minProbe, maxProbe = time.Second, 16 * time.Second

// slotsOfOne returns how many slots one tenant may have, or 0 if all: then nothing is kept for others.
func slotsOfOne(slots, share int) int {
	if share < slots {
		return share
	}
	return 0
}

// full reports whether a tenant has all that he may have.
func (s *shares) full(tenant string) bool { return s.most > 0 && s.held[tenant] >= s.most }

func (s *shares) release(tenant string) {
	if s.held[tenant]--; s.held[tenant] == 0 {
		delete(s.held, tenant)
	}
}

// closed reports whether a tenant of the lane has all that he may have.
func (s *shares) closed(l Lane) bool {
	for tenant := range s.held {
		if s.full(tenant) && l.has(tenant) {
			return true
		}
	}
	return false
}

// shut reports whether nothing is to be taken from a lane now.
func (s *shares) shut(l Lane) bool {
	p := s.probes[l]
	if s.closed(l) {
		return p == nil || !p.open
	}
	if p != nil {
		p.open = false // next stays: a lane that closes with each run is not looked at each time
	}
	return false
}

// elsewhose reports whether the lane may be closed by another tenant than this one: only then has a run of his to be
// looked for there, which asks the server for all subjects of the lane.
func (s *shares) elsewhose(l Lane, tenant string) bool {
	for other := range s.held {
		if other != tenant && l.has(other) {
			return true
		}
	}
	return false
}

// others reports whether one of the tenants has more runs than he has here, and may have one here.
func (s *shares) others(runs map[string]uint64) bool {
	for tenant, n := range runs {
		if held := s.held[tenant]; held < s.most && n > uint64(held) {
			return true
		}
	}
	return false
}
