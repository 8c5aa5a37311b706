package egress

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"sync"
)

// MaxNames is how many names a pool takes; each costs at most half a kilobyte.
const MaxNames = 65536

// poolBase is 198.18.0.0. A pool gives out 198.18.0.1 to 198.19.0.0, the first half of the benchmark range that no
// network routes (RFC 2544), so neither its first address nor its last.
const poolBase = 198<<24 | 18<<16

// Pool gives each name an address that stands for it within one jail and for one name only, for good: a program may
// keep what it resolved. It is safe for concurrent use.
type Pool struct {
	mu    sync.RWMutex
	addrs map[string]uint32 // 1 for the first name
	names []string
}

// NewPool gives an empty pool.
func NewPool() *Pool { return &Pool{addrs: map[string]uint32{}} }

// Addr is the address of a normalised name; false when the pool is full.
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
	name = strings.Clone(name) // not the packet that it was cut from
	p.names = append(p.names, name)
	i = uint32(len(p.names))
	p.addrs[name] = i
	return synthetic(i), true
}

// Name is the name that an address stands for.
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

// Len is the number of names.
func (p *Pool) Len() int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return len(p.names)
}

// Synthetic says whether an address is of the range that pools use, given out or not.
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
