package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// What a client asks the server for, by the first byte that it sends. The number of bytes follows in eight.
const (
	askDown = 'd' // send so many
	askUp   = 'u' // swallow so many, then answer with a byte
	askEcho = 'e' // answer with a byte and close
	askHold = 'h' // answer with a byte, wait for another and close
)

// block is how much one system call transfers, at both ends.
const block = 256 << 10

// serveNet answers connections until the listener is closed.
func serveNet(l net.Listener) error {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go func() {
			// a client that fails says so itself
			_ = serveConn(c)
			_ = c.Close()
		}()
	}
}

func serveConn(c net.Conn) error {
	var ask [9]byte
	if _, err := io.ReadFull(c, ask[:1]); err != nil {
		return err
	}
	switch ask[0] {
	case askEcho:
		_, err := c.Write(ask[:1])
		return err
	case askHold:
		if _, err := c.Write(ask[:1]); err != nil {
			return err
		}
		_, err := c.Read(ask[:1])
		return err
	case askDown, askUp:
		if _, err := io.ReadFull(c, ask[1:]); err != nil {
			return err
		}
	default:
		return fmt.Errorf("no request begins with %q", ask[0])
	}
	data, left := make([]byte, block), int64(binary.BigEndian.Uint64(ask[1:]))
	move := c.Write
	if ask[0] == askUp {
		move = c.Read
	}
	for left > 0 {
		n, err := move(data[:min(left, block)])
		if left -= int64(n); err != nil {
			return err
		}
	}
	if ask[0] == askUp {
		_, err := c.Write(ask[:1])
		return err
	}
	return nil
}
