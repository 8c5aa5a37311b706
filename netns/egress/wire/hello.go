package wire

import (
	"encoding/binary"
	"slices"

	"brig/netns/egress/policy"
)

// MaxHello is the maximum length of a ClientHello on the wire in bytes, record headers included.
const MaxHello = 64 << 10

// RFC 8446, 6066, 7301, 9849.
const (
	recordHandshake = 22
	maxRecord       = 16 << 10
	clientHello     = 1
	maxExtensions   = 128
	extSNI          = 0
	extALPN         = 16
	extECH          = 0xfe0d
)

// Hello parses a ClientHello that may arrive in any number of records and reads. The zero value is ready to use.
//
// The SNI determines the address: the keeper resolves and dials the name that was checked. The check covers neither the
// bytes inside TLS nor a second ClientHello after a HelloRetryRequest: like an HTTP Host inside the encryption, these
// are between the payload and the server of an allowed name. So an Encrypted ClientHello is allowed. It cannot be
// distinguished from the GREASE of browsers. Its outer SNI was checked, only the same server learns the inner name, and
// brig's DNS returns no HTTPS records, which hold the keys.
type Hello struct {
	SNI string // the name asked for: lower case, of letters, digits, '-', '_' and '.'; never empty when done

	raw  []byte // all bytes of Feed
	msg  []byte // the handshake message, without record headers
	next int    // in raw: the next record's header
}

// Feed takes the next bytes and keeps no reference to them. It returns true when SNI is known. An error is an *Error
// with NotTLS, NoSNI or NameInvalid; it is returned at the first byte that no ClientHello can have there. After either
// Feed must not be called again.
func (h *Hello) Feed(b []byte) (done bool, err error) {
	h.raw = append(h.raw, b...)
	return h.advance()
}

// Bytes returns all bytes of Feed, including those after the ClientHello. They must go upstream first.
func (h *Hello) Bytes() []byte { return h.raw }

// advance parses the whole records in raw.
func (h *Hello) advance() (bool, error) {
	for {
		rec := h.raw[h.next:]
		for i, c := range rec[:min(len(rec), 3)] {
			if i == 0 && c != recordHandshake || i == 1 && c != 3 || i == 2 && c > 4 {
				return false, refuse(policy.ReasonNotTLS, "not a TLS handshake record")
			}
		}
		if len(rec) < 5 {
			return false, nil
		}
		n := int(binary.BigEndian.Uint16(rec[3:]))
		if n == 0 || n > maxRecord || h.next+5+n > MaxHello {
			return false, refuse(policy.ReasonNotTLS, "a record of %d bytes, %d bytes into the ClientHello", n, h.next)
		}
		part := rec[5:min(len(rec), 5+n)]
		if len(h.msg) == 0 && len(part) > 0 && part[0] != clientHello {
			return false, refuse(policy.ReasonNotTLS, "the first message is not a ClientHello")
		}
		if len(part) < n {
			return false, nil
		}
		h.msg = append(h.msg, part...)
		h.next += 5 + n
		if len(h.msg) < 4 {
			continue
		}
		want := 4 + (int(h.msg[1])<<16 | int(h.msg[2])<<8 | int(h.msg[3]))
		if want > MaxHello {
			return false, refuse(policy.ReasonNotTLS, "a ClientHello of %d bytes", want)
		}
		if len(h.msg) > want {
			return false, refuse(policy.ReasonNotTLS, "bytes after the ClientHello in its record")
		}
		if len(h.msg) == want {
			err := h.parse(h.msg[4:])
			h.msg = nil
			return err == nil, err
		}
	}
}

// input is the rest of a message. A read beyond its end sets bad and returns nil.
type input struct {
	b   []byte
	bad bool
}

func (in *input) take(n int) []byte {
	if n > len(in.b) {
		in.bad, in.b = true, nil
		return nil
	}
	v := in.b[:n]
	in.b = in.b[n:]
	return v
}

// vector takes a length of size bytes, 1 or 2, and as many bytes.
func (in *input) vector(size int) []byte {
	n := 0
	for _, c := range in.take(size) {
		n = n<<8 | int(c)
	}
	return in.take(n)
}

func (h *Hello) parse(body []byte) error {
	in := &input{b: body}
	version := in.take(2)
	in.take(32) // random
	session, suites, compression := in.vector(1), in.vector(2), in.vector(1)
	if in.bad || version[0] != 3 || len(session) > 32 || len(suites) == 0 || len(suites)%2 != 0 ||
		len(compression) == 0 {
		return refuse(policy.ReasonNotTLS, "a malformed ClientHello")
	}
	if len(in.b) == 0 {
		return refuse(policy.ReasonNoSNI, "a ClientHello without extensions")
	}
	list := &input{b: in.vector(2)}
	if in.bad || len(in.b) != 0 {
		return refuse(policy.ReasonNotTLS, "malformed extensions of a ClientHello")
	}
	seen := make([]uint16, 0, 32)
	for len(list.b) > 0 {
		head := list.take(2)
		body := list.vector(2)
		if list.bad {
			return refuse(policy.ReasonNotTLS, "a malformed extension of a ClientHello")
		}
		kind := binary.BigEndian.Uint16(head)
		if slices.Contains(seen, kind) {
			return refuse(policy.ReasonNotTLS, "extension %d twice in a ClientHello", kind)
		}
		if seen = append(seen, kind); len(seen) > maxExtensions {
			return refuse(policy.ReasonNotTLS, "more than %d extensions in a ClientHello", maxExtensions)
		}
		if err := h.extension(kind, body); err != nil {
			return err
		}
	}
	if h.SNI == "" {
		return refuse(policy.ReasonNoSNI, "a ClientHello without a server name")
	}
	return nil
}

func (h *Hello) extension(kind uint16, body []byte) error {
	in := &input{b: body}
	switch kind {
	case extSNI:
		return h.serverName(in)
	case extALPN:
		list := &input{b: in.vector(2)}
		bad := in.bad || len(in.b) != 0 || len(list.b) == 0
		for len(list.b) > 0 {
			bad = len(list.vector(1)) == 0 || bad
		}
		if bad {
			return refuse(policy.ReasonNotTLS, "a malformed ALPN extension")
		}
	case extECH:
		if len(body) == 0 || body[0] != 0 { // 1 is the inner hello, which is never sent in plain
			return refuse(policy.ReasonNotTLS, "a malformed encrypted_client_hello extension")
		}
	}
	return nil
}

// serverName reads the host name. The standard allows only one, and defines no other type.
func (h *Hello) serverName(in *input) error {
	list := &input{b: in.vector(2)}
	kind := list.take(1)
	name := list.vector(2)
	if in.bad || list.bad || len(in.b) != 0 || len(list.b) != 0 || kind[0] != 0 {
		return refuse(policy.ReasonNotTLS, "a malformed server_name extension")
	}
	if len(name) == 0 {
		return refuse(policy.ReasonNoSNI, "an empty server name")
	}
	if len(name) > 254 {
		return refuse(policy.ReasonNameInvalid, "a server name of %d bytes", len(name))
	}
	sni := make([]byte, len(name))
	for i, c := range name {
		if sni[i] = lower(c); c != '.' && !nameByte(sni[i]) {
			return refuse(policy.ReasonNameInvalid, "a server name with byte %#02x", c)
		}
	}
	h.SNI = string(sni)
	return nil
}
