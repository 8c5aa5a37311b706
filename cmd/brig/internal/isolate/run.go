package isolate

import (
	"errors"
	"os"
	"os/signal"

	"brig/cmd/brig/internal/isolate/boxes"
	"brig/nsjail/explain"
	"brig/nsjail/process"

	"golang.org/x/sys/unix"
)

// run performs --run: the box's files become the program's, and the caller's again at the end.
func (c *call) run(b *boxes.Box) (code int, err error) {
	signal.Ignore(unix.SIGPIPE, unix.SIGXFSZ, unix.SIGUSR1, unix.SIGUSR2)
	j, err := c.translate(factsOf(b.Dir, c.config))
	if err != nil {
		return 0, err
	}
	id, err := program(c.Box)
	if err != nil {
		return 0, err
	}
	there, back := &boxes.Walk{UID: -1, Special: c.Special}, &boxes.Walk{UID: -1, Special: c.Special}
	if id > 0 {
		there.UID, there.GID, back.UID, back.GID = int(id), int(id), b.UID, b.GID
	}
	if b.UID != os.Getuid() { // that user may have linked another user's file into the box
		there.Owners = []int{b.UID, int(id)}
		back.Owners = there.Owners
	}
	if err = b.Hand(j.temps, there); err == nil {
		r := &running{o: c.Options, tell: c.tell}
		code, err = r.execute(j, id)
	}
	end := b.Hand(j.temps, back)
	if err != nil && end != nil && end.Error() == err.Error() { // one file has stopped both
		return 0, err
	}
	return code, errors.Join(err, end)
}

// program returns who the program is on the host, or 0 for the caller. Called by root, each box has an id of its own:
// what a run has written to a directory of --dir belongs to the next run in the box as well, and to no other box.
func program(box int64) (identity, error) {
	if os.Geteuid() != 0 {
		return 0, nil
	}
	if err := process.SetPayloadID(process.FirstPayloadID + int(box)); err != nil { // cmd/brig/early.go guesses it
		return 0, err
	}
	h, err := explain.LookIdentity()
	if err != nil || !h.Drop {
		return 0, err
	}
	return identity(h.PayloadUID), nil
}
