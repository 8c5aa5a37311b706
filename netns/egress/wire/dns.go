package wire

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"strings"

	"brig/netns/egress/policy"
)

// Question describes one DNS query, for the log.
type Question struct {
	Name    string        // lower case, without the last dot; bytes that no host name has are written \DDD
	Type    uint16        // 1 A, 28 AAAA …
	Verdict string        // "allow": an address was given; "deny"; "": no line (NODATA, no question)
	Reason  policy.Reason // of a "deny"
}

// RFC 1035, 6891.
const (
	dnsHeader = 12
	ttl       = 60 // seconds; a name keeps its address for the life of the jail

	typeA, typeOPT, typeANY = 1, 41, 255
	classIN                 = 1

	codeOK, codeFormat, codeServer, codeNoName, codeNotImp, codeRefused, codeVersion = 0, 1, 2, 3, 4, 5, 16
)

// negative is a SOA record of the root, with which resolvers cache a negative answer for ttl seconds.
var negative = []byte{0, 0, 6, 0, 1, 0, 0, 0, ttl, 0, 22, 0, 0, 0, 0, 0, 1,
	0, 0, 14, 16, 0, 0, 2, 88, 0, 1, 81, 128, 0, 0, 0, ttl}

// optRecord answers an OPT: 1232 bytes of UDP are taken; byte 5 is the upper part of the code.
var optRecord = []byte{0, 0, typeOPT, 4, 208, 0, 0, 0, 0, 0, 0}

// Answer returns the reply to one DNS query, nil for none, and what to log. query has no length prefix (TCP). knows and
// addr are called with a name in lower case without the last dot, of letters, digits, '-', '_' and '.' only. addr must
// return an IPv4 address; it is called only for a name that knows approves. A reply has at most 512 bytes.
func Answer(query []byte, knows func(name string) bool, addr func(name string) (netip.Addr, bool)) (
	reply []byte, q Question) {
	if len(query) < dnsHeader || query[2]&0x80 != 0 { // not a query: an answer could cause a loop
		return nil, q
	}
	if op := query[2] >> 3 & 15; op != 0 {
		return bare(query, codeNotImp), q
	}
	m, ok := parseQuery(query)
	if !ok {
		return bare(query, codeFormat), q
	}
	if m.version != 0 {
		return m.reply(codeVersion, nil), q
	}
	q.Name, q.Type = m.name, m.qtype
	deny := func(code int, reason policy.Reason) ([]byte, Question) {
		q.Verdict, q.Reason = "deny", reason
		return m.reply(code, nil), q
	}
	switch {
	case m.class != classIN, m.qtype == typeOPT, m.qtype >= 128 && m.qtype < typeANY: // not a query for a name
		return deny(codeRefused, policy.ReasonProtocol)
	case !m.valid:
		return deny(codeNoName, policy.ReasonNameInvalid)
	case reverse(m.name), !knows(m.name):
		return deny(codeNoName, policy.ReasonNoRule)
	case m.qtype != typeA && m.qtype != typeANY: // no AAAA: one family is enough; no HTTPS: it would bring keys for ECH
		return m.reply(codeOK, nil), q
	}
	a, ok := addr(m.name)
	if !ok || !a.Is4() {
		return deny(codeServer, policy.ReasonPoolExhausted)
	}
	q.Verdict = "allow"
	return m.reply(codeOK, a.AsSlice()), q
}

// reverse reports whether the name is a reversed address. Synthetic addresses have no names there.
func reverse(name string) bool {
	return strings.HasSuffix("."+name, ".in-addr.arpa") || strings.HasSuffix("."+name, ".ip6.arpa")
}

// message is a parsed query.
type message struct {
	query        []byte // header and question
	name         string // for the log, escaped if it is invalid
	valid        bool   // letters, digits, '-', '_'
	qtype, class uint16
	edns         bool
	version      byte
}

func parseQuery(query []byte) (m message, ok bool) {
	count := func(i int) int { return int(binary.BigEndian.Uint16(query[4+2*i:])) }
	if count(0) != 1 || count(1) != 0 || count(2) != 0 || count(3) > 1 {
		return m, false
	}
	n, ok := m.readName(query[dnsHeader:])
	rest := query[dnsHeader+n:]
	if !ok || len(rest) < 4 {
		return m, false
	}
	m.qtype, m.class = binary.BigEndian.Uint16(rest), binary.BigEndian.Uint16(rest[2:])
	m.query, rest = query[:dnsHeader+n+4], rest[4:]
	if count(3) == 0 {
		return m, len(rest) == 0
	}
	// the only other record of a stub resolver is OPT: root, 41, size, code|version|flags, length
	if len(rest) < len(optRecord) || rest[0] != 0 || binary.BigEndian.Uint16(rest[1:]) != typeOPT {
		return m, false
	}
	m.edns, m.version = true, rest[6]
	options := rest[len(optRecord):]
	if len(options) != int(binary.BigEndian.Uint16(rest[9:])) {
		return m, false
	}
	for len(options) > 0 {
		if len(options) < 4 || len(options)-4 < int(binary.BigEndian.Uint16(options[2:])) {
			return m, false
		}
		options = options[4+int(binary.BigEndian.Uint16(options[2:])):]
	}
	return m, true
}

// readName reads the name at the start of b and returns its length on the wire. A compression pointer is refused, since
// a query has no earlier name.
func (m *message) readName(b []byte) (n int, ok bool) {
	var name strings.Builder
	m.valid = true
	for {
		if n >= len(b) || n >= 255 {
			return 0, false
		}
		l := int(b[n])
		n++
		if l == 0 {
			m.name, m.valid = name.String(), m.valid && name.Len() > 0
			return n, true
		}
		if l > 63 || n+l > len(b) {
			return 0, false
		}
		if name.Len() > 0 {
			name.WriteByte('.')
		}
		for _, c := range b[n : n+l] {
			if c = lower(c); nameByte(c) {
				name.WriteByte(c)
				continue
			}
			m.valid = false
			name.WriteString(`\` + strconv.Itoa(1000 + int(c))[1:])
		}
		n += l
	}
}

// bare returns a reply without the question, for a query that cannot be parsed.
func bare(query []byte, code byte) []byte {
	r := make([]byte, dnsHeader)
	copy(r, query[:2])
	r[2] = 0x80 | query[2]&0x79
	r[3] = 0x80 | code
	return r
}

// reply repeats the question in its original spelling (clients check the case: 0x20) and answers with an address or the
// negative record.
func (m *message) reply(code int, address []byte) []byte {
	r := make([]byte, 0, 512)
	r = append(r, m.query...)
	r[2] = 0x84 | m.query[2]&0x79                   // response, authoritative; opcode and "recursion desired" as asked
	r[3] = 0x80 | m.query[3]&0x10 | byte(code&0x0f) // "recursion available": without it some resolvers ask elsewhere
	copy(r[4:], []byte{0, 1, 0, 0, 0, 0, 0, 0})
	switch {
	case address != nil:
		r[7] = 1
		r = append(r, 0xc0, dnsHeader, 0, typeA, 0, classIN, 0, 0, 0, ttl, 0, 4)
		r = append(r, address...)
	case code == codeOK || code == codeNoName:
		r[9] = 1
		r = append(r, negative...)
	}
	if m.edns {
		r[11] = 1
		r = append(r, optRecord...)
		r[len(r)-len(optRecord)+5] = byte(code >> 4)
	}
	return r
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// nameByte reports whether a lower-case label of a host name may contain c.
func nameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}
