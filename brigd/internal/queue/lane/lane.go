// Package lane decides from which lane a worker takes its next run: by the priority of classes, the turns of lanes, and
// the part of the slots that one tenant may have. It asks no server.
package lane

import (
	"hash/fnv"
	"strconv"
)

// Lane is a part of the tenants of a class.
type Lane struct {
	Class  string
	Number int
}

// Classes are the priorities, the highest first, each with the number of its lanes.
var Classes = []struct {
	Name  string
	Lanes int
}{{"high", 2}, {"normal", 8}, {"low", 2}}

// All returns all lanes, those of the highest class first.
func All() (list []Lane) {
	for _, c := range Classes {
		for i := range c.Lanes {
			list = append(list, Lane{c.Name, i})
		}
	}
	return list
}

// Of returns the lane of a tenant for an urgency: see engine.Request.
func Of(urgency int, tenant string) Lane {
	c := Classes[1-max(-1, min(1, urgency))]
	return Lane{c.Name, numberOf(tenant, c.Lanes)}
}

// numberOf returns the number of a tenant's lane, of so many.
func numberOf(tenant string, lanes int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(tenant)) // a hash.Hash never fails
	return int(h.Sum32() % uint32(lanes))
}

// Consumer returns the name of the lane's consumer.
func (l Lane) Consumer() string { return l.Class + "-" + strconv.Itoa(l.Number) }

// Token returns what subjects of the lane have.
func (l Lane) Token() string { return l.Class + "." + strconv.Itoa(l.Number) }

// rank returns the place of the lane's class, the highest class first.
func (l Lane) rank() int {
	for i, c := range Classes {
		if c.Name == l.Class {
			return i
		}
	}
	return len(Classes)
}

// has reports whether runs of a tenant come to the lane.
func (l Lane) has(tenant string) bool { return l.Number == numberOf(tenant, Classes[l.rank()].Lanes) }
