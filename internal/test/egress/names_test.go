package egress

import "brig/internal/test/rig"

// rebinding sets the names of the rebinding attacks. Their policies allow them, and they lead to addresses to which no
// name may lead.
func (s *suite) rebinding() {
	for name, addrs := range map[string][]string{
		"ten.example": {"10.0.0.1"}, "meta.example": {"169.254.169.254"}, "loop.example": {"127.0.0.1"}, "own.example": {rig.HostAddr},
		"ownpublic.example": {rig.HostPublic}, "zero.example": {"0.0.0.0"}, "cgnat.example": {"100.64.0.1"}, "bench.example": {"198.18.0.1"},
		"ula.example": {"fd00::1"}, "mapped.example": {"::ffff:10.0.0.1"}, "nat64.example": {"64:ff9b::a00:1"}, "sixtofour.example": {"2002:a00:1::1"},
		"teredo.example": {"2001::1"}, "own6.example": {rig.HostAddr6}, "loop6.example": {"::1"}, "azure.example": {"168.63.129.16"},
		"mixed.example": {"10.0.0.1", "169.254.169.254", "127.0.0.1", rig.GoodAddr}, "class-e.example": {"240.0.0.1"},
		"barred.example": {rig.EvilAddr}, "multi.example": {"224.0.0.1"}, "broadcast.example": {"255.255.255.255"},
	} {
		s.DNS.Set(name, addrs)
	}
	s.DNS.Set("alias.example", []string{"alias instance-data.internal", "169.254.169.254"})
	s.DNS.Set("flip.example", []string{rig.GoodAddr}, []string{"10.0.0.1"})
}
