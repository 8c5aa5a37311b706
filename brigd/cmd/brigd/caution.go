package main

import (
	"strings"

	"brig/brigd/engine"
)

// caution warns of settings that are right, and that the operator may not mean.
func (p *daemon) caution(o *engine.Options) {
	var hidden []string // what is offered, and what no request gets
	usable := map[string]bool{}
	for _, s := range p.engine.Shares(engine.Caller{}) {
		usable[s.Name] = true
	}
	for _, s := range o.Shares {
		if !usable[s.Name] {
			hidden = append(hidden, s.Name)
		}
	}
	if len(hidden) > 0 {
		p.log.Warn("the policies allow these shares to nobody; add them to \"shares\" in each policy, as in [\"data\"] or "+
			"[\"data:ro\"]", "shares", strings.Join(hidden, ","), "policies", strings.Join(p.c.Rules.Policies, ","))
	}
	if len(o.Images) > 0 && len(p.engine.Images(engine.Caller{})) == 0 {
		p.log.Warn("the policies allow none of the images; add them to \"images\" in each policy",
			"policies", strings.Join(p.c.Rules.Policies, ","))
	}
	bounded := o.Memory > 0 || o.Base.Limits.Memory > 0
	for _, policy := range o.Policies {
		bounded = bounded || policy.Limits.Memory > 0
	}
	if here := p.c.JetStream.At == "" || p.c.Slots() > 0; here && !bounded {
		p.log.Info("runs have no limit of memory; --memory SIZE, or a policy with one, sets it")
	}
}
