package egress

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"sync"
)

// maxNames bounds the names of a pool; each needs at most half a kilobyte.
const maxNames = 65536

// poolBase is 198.18.0.0. A pool uses 198.18.0.1 to 198.19.0.0, half of the benchmark range (RFC 2544), which no
// network routes. It uses neither the first nor the last address of the range.
const poolBase = 198<<24 | 18<<16

// pool assigns a unique address to each name for the life of the jail, since a program may keep an address it has
// resolved. It is safe for concurrent use.
type pool struct {
	mu    sync.Mutex
	addrs map[string]netip.Addr
	names map[netip.Addr]string
}

func newPool() *pool { return &pool{addrs: map[string]netip.Addr{}, names: map[netip.Addr]string{}} }

// addr returns the address of a normalised name. It returns false if the pool is full.
func (p *pool) addr(name string) (netip.Addr, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a, ok := p.addrs[name]; ok {
		return a, true
	}
	if len(p.addrs) == maxNames {
		return netip.Addr{}, false
	}
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], poolBase+uint32(len(p.addrs))+1)
	a := netip.AddrFrom4(b)
	name = strings.Clone(name) // does not keep the packet alive
	p.addrs[name], p.names[a] = a, name
	return a, true
}

// name returns the name of an address. It returns false if it has none.
func (p *pool) name(a netip.Addr) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name, ok := p.names[a.Unmap()]
	return name, ok
}

var poolRange = netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18}), 15)

// synthetic reports whether an address is in the range of pools, assigned or not.
func synthetic(a netip.Addr) bool { return poolRange.Contains(a.Unmap()) }
