package program

import "testing"

// FuzzEncode makes a program from arbitrary bytes and reads its binary form back.
func FuzzEncode(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{3, 1, 5, 'h', 'e', 'l', 'l', 'o', 2, 4, 6, 1, 2, 3, 0, 9, 255})
	f.Add([]byte("\x06\x05\x03abc\x02de\x01\x00\x04\x09 a longer seed, so that every kind of argument comes up \x03\x03\x03\x05\x05\x06\x06"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 4096 {
			return
		}
		p, r := arbitrary(b)
		_ = p.String()
		blob, err := p.Encode(r)
		if err != nil {
			if p.next <= noSlot {
				t.Fatal(err)
			}
			return
		}
		d, err := decode(blob)
		if err != nil {
			t.Fatal(err)
		}
		same(t, p, d)
	})
}

type tape struct{ b []byte }

func (s *tape) next() int {
	if len(s.b) == 0 {
		return 0
	}
	v := s.b[0]
	s.b = s.b[1:]
	return int(v)
}

func (s *tape) take() []byte {
	n := min(s.next(), len(s.b))
	v := s.b[:n:n]
	s.b = s.b[n:]
	return v
}

func arbitrary(b []byte) (*Program, Request) {
	s := &tape{b}
	p := New(s.next() % 8)
	r := Request{Kind: Kind(s.next() % 2), Cgroup: s.next()%9 - 1, CloneFlags: uint64(s.next()) << 40, Ward: s.next()%2 == 1}
	var open []Slot
	for len(s.b) > 0 {
		nr := uintptr(s.next() * 1000)
		args := make([]Arg, s.next()%7)
		for i := range args {
			args[i] = arbitraryArg(s, p)
		}
		switch s.next() % 4 {
		case 0:
			p.Add("a", nr, args...)
		case 1:
			p.Add("m", nr, args...).OK = [4]uint8{uint8(s.next()), 0, 1}
		case 2:
			open = append(open, p.Open("o", nr, args...))
		case 3:
			if n := len(open); n > 0 {
				p.Close("c", open[n-1])
				open = open[:n-1]
			}
		}
	}
	return p, r
}

func arbitraryArg(s *tape, p *Program) Arg {
	switch s.next() % 7 {
	case 0:
		return Int(uint64(s.next()) << (s.next() % 64))
	case 1:
		return Str(string(s.take()))
	case 2:
		return Bytes(s.take())
	case 3:
		list := make([]string, s.next()%5)
		for i := range list {
			list[i] = string(s.take())
		}
		return Strs(list)
	case 4:
		return Struct(make([]byte, 24), Text("{}")).WithPointer(8*(s.next()%3), append([]byte{}, s.take()...))
	case 5:
		return Struct(make([]byte, 24), Text("{}")).WithOwnPointer(8, s.next()%24)
	}
	return Slot(s.next() % max(1, int(p.next))).Arg()
}
