package egress

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"sync"
)

// MaxNames bounds the names of a pool; each needs at most half a kilobyte.
const MaxNames = 65536

// poolBase is 198.18.0.0. A pool uses 198.18.0.1 to 198.19.0.0, half of the benchmark range (RFC 2544), which no
// network routes. It uses neither the first nor the last address of the range.
const poolBase = 198<<24 | 18<<16

// Pool assigns a unique address to each name for the life of the jail, since a program may keep an address it has
// resolved. It is safe for concurrent use.
type Pool struct {
	mu    sync.RWMutex
	addrs map[string]uint32 // 1 for the first name
	names []string
}

// NewPool returns an empty pool.
func NewPool() *Pool { return &Pool{addrs: map[string]uint32{}} }

// Addr returns the address of a normalised name. It returns false if the pool is full.
func (p *Pool) Addr(name string) (netip.Addr, bool) {
	p.mu.RLock()
	i, ok := p.addrs[name]
	p.mu.RUnlock()
	if ok {
		return synthetic(i), true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i, ok = p.addrs[name]; ok {
		return synthetic(i), true
	}
	if len(p.names) == MaxNames {
		return netip.Addr{}, false
	}
	name = strings.Clone(name) // does not keep the packet alive
	p.names = append(p.names, name)
	i = uint32(len(p.names))
	p.addrs[name] = i
	return synthetic(i), true
}

// Name returns the name of an address. It returns false if it has none.
func (p *Pool) Name(a netip.Addr) (string, bool) {
	a = a.Unmap()
	if !a.Is4() {
		return "", false
	}
	b := a.As4()
	i := binary.BigEndian.Uint32(b[:]) - poolBase // an address below the base becomes huge
	p.mu.RLock()
	defer p.mu.RUnlock()
	if i == 0 || uint64(i) > uint64(len(p.names)) {
		return "", false
	}
	return p.names[i-1], true
}

// Len returns the number of names.
func (p *Pool) Len() int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return len(p.names)
}

// Synthetic reports whether an address is in the range of pools, assigned or not.
func Synthetic(a netip.Addr) bool {
	a = a.Unmap()
	if !a.Is4() {
		return false
	}
	b := a.As4()
	return b[0] == 198 && b[1]&^1 == 18
}

func synthetic(i uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], poolBase+i)
	return netip.AddrFrom4(b)
}
