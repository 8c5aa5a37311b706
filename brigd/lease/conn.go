package lease

import (
	"context"
	"net"
	"sync"
	"time"

	"brig/brigd/job"
	"brig/brigd/token"
)

// Conn returns a connection that ends with a token, if there is one. done is called once when it has ended.
func (s *Leases) Conn(c net.Conn, id string, t *token.Token, done func()) net.Conn {
	lent, end := s.Lend(context.Background(), t, &job.Job{ID: id}, time.Now())
	x := &conn{Conn: c}
	x.done = sync.OnceFunc(func() {
		end()
		done()
	})
	context.AfterFunc(lent, func() { _ = x.Close() })
	return x
}

// conn is a connection that a caller uses.
type conn struct {
	net.Conn
	done func()
}

// Close implements net.Conn.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.done()
	return err
}
