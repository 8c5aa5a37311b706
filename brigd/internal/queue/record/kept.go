package record

import "sync"

// kept remembers the results that this process has stored and that are fetched later, by tenant and the oldest first.
type kept struct {
	mu   sync.Mutex
	of   map[string][]keptResult
	sums map[string]int64
}

type keptResult struct {
	id       string
	size     int64
	revision uint64
}

// add notes a result, and returns the tenant's oldest ones that are too many then.
func (k *kept) add(tenant string, r keptResult, most int64) (over []keptResult) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil {
		k.of, k.sums = map[string][]keptResult{}, map[string]int64{}
	}
	k.of[tenant] = append(k.of[tenant], r)
	for k.sums[tenant] += r.size; most > 0 && k.sums[tenant] > most && len(k.of[tenant]) > 1; {
		over = append(over, k.pop(tenant))
	}
	return over
}

// pop removes the oldest result of a tenant. The caller holds mu.
func (k *kept) pop(tenant string) keptResult {
	r := k.of[tenant][0]
	if k.of[tenant] = k.of[tenant][1:]; len(k.of[tenant]) == 0 {
		delete(k.of, tenant)
	}
	if k.sums[tenant] -= r.size; k.sums[tenant] == 0 {
		delete(k.sums, tenant)
	}
	return r
}

// largest removes the oldest result of the tenant who has the most.
func (k *kept) largest() (r keptResult, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	of := ""
	for tenant, n := range k.sums {
		if of == "" || n > k.sums[of] {
			of = tenant
		}
	}
	if len(k.of[of]) == 0 {
		return r, false
	}
	return k.pop(of), true
}
