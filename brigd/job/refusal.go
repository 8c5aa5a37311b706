package job

// Verdict is what the Executors decided about a Job.
type Verdict struct {
	// Refusal, if set, prevents the run. Inner Executors still receive the Job, so that they can log it, and the innermost
	// one returns the Refusal as its error.
	Refusal *Refusal
	// Policies names the policies that allowed the Job. Narrowed lists their changes to the Spec, a sentence each.
	Policies, Narrowed []string
}

// Refuse sets the Refusal of the Job, unless it has one.
func (j *Job) Refuse(r *Refusal) {
	if j.Verdict.Refusal == nil {
		j.Verdict.Refusal = r
	}
}

// Refusal is a no that a program, or a model, can act on.
type Refusal struct {
	// Message is one sentence: what is not allowed, and why.
	Message string `json:"error"`
	// Code is a word for programs: "command_not_allowed".
	Code string `json:"code"`
	// Layer is who said no: request, auth, token, policy, quota, queue, sandbox or jail.
	Layer string `json:"layer"`
	// Rule is what said so: a field of a policy ("commands"), of a token or of the request, and whose ("minimal:
	// commands").
	Rule string `json:"rule,omitempty"`
	// NextSteps are sentences that say how to proceed.
	NextSteps []string `json:"next_steps,omitempty"`
}

// Error returns the layer that refused, and the message.
func (r *Refusal) Error() string { return r.Layer + ": " + r.Message }
