package peers

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"testing"

	"github.com/nats-io/nats.go"
)

// Pieces are taken in their order. A tunnel ends if a piece is missing, or if the peer sends more than the window. After
// the peer's last piece, "no responders" from the server does not end it.
func TestTunnelReceives(t *testing.T) {
	piece := func(n uint32) []byte {
		return append(binary.BigEndian.AppendUint32([]byte{kindPiece}, n), 'x')
	}
	nobody := nats.Header{"Status": {"503"}}
	for what, c := range map[string]struct {
		in   []*nats.Msg
		ends bool
	}{
		"in order":             {[]*nats.Msg{{Data: piece(0)}, {Data: piece(1)}, {Data: []byte{kindBeat}}, {Data: piece(2)}}, false},
		"one is missing":       {[]*nats.Msg{{Data: piece(0)}, {Data: piece(2)}}, true},
		"one is there twice":   {[]*nats.Msg{{Data: piece(0)}, {Data: piece(0)}}, true},
		"one without a number": {[]*nats.Msg{{Data: []byte{kindPiece, 0, 0}}}, true},
		"after the end":        {[]*nats.Msg{{Data: []byte{kindEnd}}, {Data: []byte{kindEnd}}, {Data: piece(0)}}, true},
		"lost":                 {[]*nats.Msg{{Data: piece(0)}, {Header: nobody}}, true},
		"complete":             {[]*nats.Msg{{Data: piece(0)}, {Data: []byte{kindEnd}}, {Header: nobody}}, false},
		"an answer too many":   {[]*nats.Msg{{Data: []byte{kindTaken}}, {Data: []byte{kindTaken}}}, false},
	} {
		tunnel := idle()
		for _, m := range c.in {
			tunnel.receive(m)
		}
		if ended := tunnel.ended.Err() != nil; ended != c.ends {
			t.Errorf("%s: it has ended: %v", what, ended)
		}
	}
	tunnel := idle()
	for n := range uint32(window) {
		tunnel.receive(&nats.Msg{Data: piece(n)})
	}
	if tunnel.ended.Err() != nil {
		t.Error("it has ended within the window")
	}
	tunnel.receive(&nats.Msg{Data: piece(window)})
	if tunnel.ended.Err() == nil {
		t.Error("it goes on after more than the window")
	}
}

// idle returns a tunnel through which nothing is sent.
func idle() *tunnel {
	t := &tunnel{in: make(chan []byte, window), owed: make(chan struct{}, window)}
	t.ended, t.end = context.WithCancel(context.Background())
	return t
}

// A connection to this process needs no server, and a closed listener takes none.
func TestDialHere(t *testing.T) {
	q := &Peers{}
	s, err := q.Serve(nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := q.Dial(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	far, err := s.Accept()
	if err != nil || far.LocalAddr().Network() != "unix" {
		t.Fatalf("%v, %v", far, err)
	}
	go func() { _, _ = io.WriteString(far, "hello"); _ = far.Close() }()
	if text, err := io.ReadAll(c); string(text) != "hello" {
		t.Errorf("%q, %v", text, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if c, err = q.Dial(t.Context(), ""); err == nil {
		_, err = c.Read(make([]byte, 1))
	}
	if err == nil {
		t.Error("a closed listener answers")
	}
	if _, err := s.Accept(); err == nil {
		t.Error("a closed listener accepts")
	}
	var _ net.Listener = s
}
