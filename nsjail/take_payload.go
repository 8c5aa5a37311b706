package nsjail

import (
	"slices"

	"brig/nsjail/internal/host"
	"brig/nsjail/internal/plan"
	"brig/nsjail/spec"
)

// Handover lets a Cmd be run by a parked payload (Runner.PrestartRunning) instead of a payload of its own. The parked
// one is taken if its Spec equals that of the Cmd, with the fields below in their places and but for the limits that
// the keeper holds, and if it still waits. Otherwise the Cmd starts as without a Handover. The caller must see to it
// that both do the same.
//
// A payload that is taken has pipes for its streams, so none is taken if one of the Cmd's is an *os.File, or if Stdout
// and Stderr are the same writer.
type Handover struct {
	Args, Env []string
	Mounts    []spec.Mount
	// Data is what the payload reads first; Stdin follows in the same pipe. So Data must tell its own length. If the
	// payload ends before it is read, nothing of the command has run, and Wait returns an error.
	Data []byte
}

// takePayload takes a parked payload, and reports whether one was ready. The clocks and the limits' counts begin here.
// Result.Usage counts what the payload has used before, too, and so does RLIMIT_CPU.
func (c *Cmd) takePayload() (taken bool, err error) {
	c.setStreams()
	if c.runner.tree == nil || c.edit != nil || !c.streams.CanTake() {
		return false, nil
	}
	s := c.Spec
	s.Args, s.Env, s.Mounts = c.Handover.Args, c.Handover.Env, c.Handover.Mounts
	key := payloadKey(&s)
	st := c.runner.tree
	st.mu.Lock()
	y := st.findPayloads(&key)
	st.mu.Unlock()
	if y == nil {
		return false, nil
	}
	k, err := kindOf(&s)
	if err != nil { // the cold start that follows returns the error
		return false, nil
	}
	for {
		p := y.Take()
		if p == nil {
			return false, nil
		}
		if c.plan = p.planFor(&s, k); c.plan != nil && p.waits() {
			return true, c.become(p)
		}
		c.runner.ending.Go(func() { _ = p.discard() }) // no caller waits for the error
	}
}

// planFor returns the plan of a parked payload for a Spec with other limits of the keeper, or nil if the payload no
// longer has what a new one would have: the same files of the host, filter and environment.
func (c *Cmd) planFor(s *spec.Spec, k *kind) *plan.Plan {
	if !c.from.fits(k) {
		return nil
	}
	env, term, err := host.LookEnv(s)
	if err != nil || !slices.Equal(host.BuildEnv(s, env, term), c.plan.Env) {
		return nil
	}
	if s.Rootfs.Path != "" {
		now, err := c.from.run(c, s, c.runner.tree.mounts.Changes())
		if err != nil {
			return nil
		}
		defer now.Close() // its descriptors were open for reading metadata only
		if !c.from.sameSources(now) {
			return nil
		}
	}
	return c.plan.For(s)
}

// become takes over what the keeper holds for a parked payload, and hands the run over to it.
func (c *Cmd) become(p *Cmd) error {
	c.jail, c.taken = p.jail, true
	if c.WantPlanDigest {
		c.digest = p.digest
	}
	for m := momentLooked; m <= momentSpawned; m++ {
		c.mark(m)
	}
	c.streams.Take(&p.streams, c.Handover.Data)
	err := c.runner.register(c)
	if err == nil {
		err = c.watchOOM()
	}
	if err != nil {
		return c.undo(err)
	}
	if l := &c.Spec.Limits; c.group != nil && (l.CPUTime > 0 || l.CPUs > 0 || l.Processes > 0 || l.MemoryHigh > 0) {
		c.state.before = c.group.Read()
	}
	c.startWatch()
	c.runs()
	return nil
}
