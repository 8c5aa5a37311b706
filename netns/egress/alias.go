package egress

import "brig/netns/egress/policy"

// The types of package policy, for embedders. That package parses and evaluates policies and has their constants; this
// one applies them.
type (
	Policy   = policy.Policy
	Rule     = policy.Rule
	Ports    = policy.Ports
	Mode     = policy.Mode
	Bytes    = policy.Bytes
	Duration = policy.Duration
	Problem  = policy.Problem
	Reason   = policy.Reason
)

// The functions that make a Policy.
var (
	ParsePolicy = policy.ParsePolicy
	LoadPolicy  = policy.LoadPolicy
	ParseRule   = policy.ParseRule
)
