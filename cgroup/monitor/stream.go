package monitor

// Stream is a channel that is closed when its context ends, when the group is removed, or when watching fails. By then
// the goroutines and descriptors behind it are gone.
type Stream[T any] struct {
	C    <-chan T
	err  error
	done chan struct{} // closed just before C
}

// Err says why C was closed: the context's cause, ErrRemoved, or what failed. It is nil before that.
func (s *Stream[T]) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// end closes the stream.
func (s *Stream[T]) end(c chan T, err error) {
	s.err = err
	close(s.done)
	close(c)
}

func newStream[T any](room int) (*Stream[T], chan T) {
	c := make(chan T, room)
	return &Stream[T]{C: c, done: make(chan struct{})}, c
}
