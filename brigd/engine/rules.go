package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"brig/brigd/job"
	"brig/brigd/policy"
	"brig/brigd/workspace"
	"brig/internal/sys"
	"brig/nsjail"
)

// Rules are what the brigd that has taken a request demands of its run, in addition to the settings of the Engine that
// runs it. Zero values demand nothing. They travel as JSON.
type Rules struct {
	// Policies must all allow the run. Each is a whole policy: see policy.Policy.JSON.
	Policies []json.RawMessage `json:"policies,omitempty"`
	// Spec is the digest of the Spec that every jail begins with: see BaseDigest.
	Spec string `json:"spec,omitempty"`
	// Timeout and Memory apply to a request that names none, as Options.Timeout and Memory do. MaxTimeout and MaxOutput
	// are ceilings.
	Timeout    nsjail.Duration `json:"timeout,omitempty"`
	MaxTimeout nsjail.Duration `json:"max_timeout,omitempty"`
	Memory     nsjail.Bytes    `json:"memory,omitempty"`
	MaxOutput  nsjail.Bytes    `json:"max_output,omitempty"`
	// Optional are mechanisms that the policies above may do without where the worker's machine lacks them: the one
	// thing that is given and not taken, and of what else demands a mechanism nothing is given.
	Optional []string `json:"optional,omitempty"`
	// Shares are the only ones that may be mounted, unless it is null.
	Shares map[string]ShareRule `json:"shares"`
	// Images are the only ones that may be the root, unless it is null.
	Images []string `json:"images"`
	// Sandbox bounds a new sandbox.
	Sandbox SandboxRule `json:"sandbox,omitzero"`

	policies []*policy.Policy
}

// ShareRule bounds the use of a share.
type ShareRule struct {
	Mode    string       `json:"mode"`              // the highest
	Protect []string     `json:"protect,omitempty"` // paths below it that no run can change
	Size    nsjail.Bytes `json:"size,omitempty"`    // of what a run may write in mode cow
	Inodes  int64        `json:"inodes,omitempty"`
}

// SandboxRule bounds a new sandbox, and all of one caller's and of all callers at the Engine that makes it.
type SandboxRule struct {
	Size     nsjail.Bytes    `json:"size,omitempty"`
	TTL      nsjail.Duration `json:"ttl,omitempty"`
	Max      int             `json:"max,omitempty"`
	PerAgent int             `json:"per_agent,omitempty"`
	Bytes    int64           `json:"bytes,omitempty"`
	// BytesPerAgent includes what its inodes take, as Bytes does.
	BytesPerAgent int64 `json:"bytes_per_agent,omitempty"`
}

// ParseRules reads Rules.
func ParseRules(text []byte) (*Rules, error) {
	r := &Rules{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("the rules of the brigd that took the request: %w", err)
	}
	for i, doc := range r.Policies {
		p, err := policy.Parse(doc)
		if err == nil {
			err = p.Seal()
		}
		if err != nil {
			return nil, fmt.Errorf("policy %d of the brigd that took the request: %w", i+1, err)
		}
		r.policies = append(r.policies, p)
	}
	return r, nil
}

// BaseDigest returns what stands for Options.Base in Rules. What a machine may do without is not in it.
func BaseDigest(base *nsjail.Spec) string {
	s := base.Clone()
	s.Args, s.Mounts, s.Optional = nil, nil, nil
	return s.Digest()
}

// checkBase refuses a run whose jail would begin with another Spec than was demanded: a Spec may narrow or widen, and
// neither of two is the narrower one.
func (r *Rules) checkBase(base *nsjail.Spec) *job.Refusal {
	if r == nil || r.Spec == "" || r.Spec == BaseDigest(base) {
		return nil
	}
	return refuse("policy", "spec_differs", "spec",
		"the jails of this worker begin with another Spec than the brigd that took the request demands",
		"ask the operator to start brigd and its workers with the same Spec")
}

// spare makes mechanisms optional that nothing but the Rules' policies demands. It is called before they are asked.
func (r *Rules) spare(j *job.Job, others []*policy.Policy) {
	if r == nil || len(r.Optional) == 0 {
		return
	}
	s := j.Spec.Clone()
	for _, p := range others {
		p.Lower(s)
	}
	demanded := map[string]json.RawMessage{}
	if text, err := json.Marshal(&s.Limits); err != nil || json.Unmarshal(text, &demanded) != nil {
		return // cannot happen: it is plain data
	}
	for _, name := range r.Optional {
		if _, ok := demanded[name]; !ok && !slices.Contains(s.Require, name) && !slices.Contains(s.Optional, name) {
			j.Spec.Optional = append(slices.Clip(j.Spec.Optional), name)
		}
	}
}

// lower lowers the limits of a Job that are filled in already.
func (r *Rules) lower(j *job.Job, q *Request, stream bool) {
	if r == nil {
		return
	}
	l := &j.Spec.Limits
	if q.endless {
		return
	}
	if q.Timeout == 0 {
		l.Wall = least(l.Wall, r.Timeout)
	}
	lowerWall(j, r.MaxTimeout)
	if q.Memory == 0 {
		l.Memory = least(l.Memory, r.Memory)
	}
	if !stream { // the caller of a stream gets all of the output, in pieces
		l.Output = least(l.Output, r.MaxOutput)
	}
}

// mode returns the highest mode of a share that the Rules allow, as an index of policy.ShareModes.
func (r *Rules) mode(share string) int {
	most := len(policy.ShareModes) - 1
	if r == nil || r.Shares == nil {
		return most
	}
	s, ok := r.Shares[share]
	if !ok {
		return -1
	}
	return slices.Index(policy.ShareModes, s.Mode)
}

// protected returns the paths in a directory of a share that the Rules protect, relative to it. It reports whether the
// directory itself is in one.
func (r *Rules) protected(share, dir string) (list []string, whole bool) {
	if r == nil {
		return nil, false
	}
	for _, at := range r.Shares[share].Protect {
		switch {
		case dir == "" || dir == ".":
			list = append(list, at)
		case sys.Under("/"+dir, "/"+at):
			whole = true
		case sys.Under("/"+at, "/"+dir):
			list = append(list, strings.TrimPrefix(at, dir+"/"))
		}
	}
	return list, whole
}

// allowsImage reports whether an image may be the root.
func (r *Rules) allowsImage(name string) bool {
	return r == nil || r.Images == nil || slices.Contains(r.Images, name)
}

// bound applies the Rules to a new sandbox of an engine whose own bounds are own.
func (r *Rules) bound(own *workspace.StoreOptions, ask *SandboxRequest, o *workspace.CreateOptions) *job.Refusal {
	if r == nil {
		return nil
	}
	s := &r.Sandbox
	if s.Size > 0 && ask.Disk > s.Size || s.TTL > 0 && ask.TTL > s.TTL {
		return refuse("sandbox", workspace.CodeBadOption, "disk", fmt.Sprintf("a sandbox of %d bytes that lives for %s is "+
			"more than may be: %d bytes and %s", ask.Disk, ask.TTL, s.Size, s.TTL), "ask for less")
	}
	if s.Size > 0 && ask.Disk == 0 {
		ask.Disk = least(nsjail.Bytes(own.DefaultSize), s.Size)
	}
	if s.TTL > 0 && ask.TTL == 0 {
		ask.TTL = least(nsjail.Duration(own.DefaultTTL), s.TTL)
	}
	o.Bounds = workspace.Bounds{Max: s.Max, MaxPerAgent: s.PerAgent, MaxBytes: s.Bytes, MaxBytesPerAgent: s.BytesPerAgent}
	return nil
}
