package run

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
)

// outputs are the copies of what a payload writes.
type outputs struct {
	of     [2]*capture // of stdout and stderr; nil: not copied
	screen *capture    // of the terminal in place of the caller's; nil: none
	copies sync.WaitGroup
}

// each visits the copies that there are.
func (o *outputs) each(visit func(*capture)) {
	for _, c := range []*capture{o.of[0], o.of[1], o.screen} {
		if c != nil {
			visit(c)
		}
	}
}

// start begins to copy.
func (o *outputs) start() { o.each(func(c *capture) { o.copies.Go(c.copy) }) }

// end waits until all is copied that was written before the end of the jail.
func (o *outputs) end() {
	o.each((*capture).over)
	o.copies.Wait()
}

// readOn goes on reading the payload's streams after the end: see capture.readOn.
func (o *outputs) readOn() {
	for _, c := range o.of {
		if c != nil {
			c.readOn()
		}
	}
}

// counts returns the bytes that were read of each stream, and those that were dropped.
func (o *outputs) counts() (bytes, dropped [2]int64) {
	for i, c := range o.of {
		if c != nil {
			bytes[i], dropped[i] = c.total, c.dropped()
		}
	}
	return bytes, dropped
}

// failure returns the errors of copying to the caller. That a reader has gone is none.
func (o *outputs) failure() error {
	var errs []error
	for i, c := range o.of {
		if c != nil && c.err != nil && !errors.Is(c.err, syscall.EPIPE) {
			errs = append(errs, fmt.Errorf("%s: %w; give it more room", streamNames[i+1], c.err))
		}
	}
	return errors.Join(errs...)
}
