package nsjail

import (
	"encoding/binary"
	"errors"
	"io"
	"os"

	"brig/internal/sys"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/ops"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/relay"
	"brig/nsjail/internal/run"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// holdings are what the keeper has opened for one jail, before its first process or beside it. They are released once:
// when the start has failed, or after the end.
type holdings struct {
	streams run.Streams
	meter   meter
	closers []io.Closer // other files to close at the end
	disks   disks
	guard   guard
	relay   *relay.Relay // nil for a jail without NetEgress and published ports
}

// prepare makes what the jail of a Spec shows and the host has not: directories on disk, and files at protected paths.
// It returns the Host with these and the volumes, also with an error.
func (h *holdings) prepare(s *spec.Spec, on *host.Host, volumes *volumeHelper) (*host.Host, error) {
	shown, err := volumes.sources(s)
	made, failed := h.disks.open(s, on)
	return on.With(host.Prepared{Sources: shown}).With(made), errors.Join(err, failed, h.guard.hold(on))
}

// openStreams opens the payload's streams for a plan: see run.Streams.
func (h *holdings) openStreams(p *plan.Plan) ([]int, error) {
	s, on := &h.streams, p.Host
	s.Seat = p.Mode.Terminal > 0
	s.Owner, s.Same = run.Owner{Other: on.Drop, UID: on.PayloadUID, GID: on.PayloadGID}, p.SameFiles
	return s.Open()
}

// openCycle opens the two sockets that detachMounts needs, and keeps a duplicate of each until the jail ends.
func (h *holdings) openCycle(p *plan.Plan, fds *passedFDs) error {
	if p.Cycle == 0 {
		return nil
	}
	sv, err := launcher.Socketpair(unix.SOCK_DGRAM)
	if err != nil {
		return err
	}
	fds.put(p.Cycle, sv[:]...)
	for _, fd := range sv {
		mine, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return os.NewSyscallError("fcntl", err)
		}
		h.closers = append(h.closers, descriptor(mine))
	}
	return nil
}

// descriptor is a file descriptor as an io.Closer.
type descriptor int

func (d descriptor) Close() error { return unix.Close(int(d)) }

// receive handles descriptors from the jail: upper directories, which have a tag; the sockets of its network, if any;
// then its terminal.
func (h *holdings) receive(p *plan.Plan, tag int, fds []int) error {
	if tag == ops.TagUpper {
		return h.disks.add(p, fds[0])
	}
	if h.relay.Waits() {
		return h.relay.Serve(fds, p.Sockets.List())
	}
	defer launcher.CloseAll(fds[1:])
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return errors.Join(err, unix.Close(fds[0]))
	}
	h.streams.Attach(os.NewFile(uintptr(fds[0]), "ptmx"))
	_, err := sys.Write(fds[1], binary.NativeEndian.AppendUint64(nil, 1)) // the payload waits for it: ops.OpenTerminal
	return err
}

// endStreams ends the copies and closes the files that are held until the jail ends.
func (h *holdings) endStreams() {
	h.streams.End()
	for _, f := range h.closers {
		f.Close()
	}
}

// output returns the number of bytes that the keeper has copied and dropped.
func (h *holdings) output() Output {
	bytes, dropped := h.streams.Counts()
	return Output{StdoutBytes: bytes[0], StderrBytes: bytes[1], StdoutDropped: dropped[0], StderrDropped: dropped[1]}
}

// release releases everything after a start that has failed.
func (h *holdings) release() error {
	h.endStreams()
	err := h.disks.drop()
	h.relay.Close()
	return errors.Join(err, h.guard.release())
}
