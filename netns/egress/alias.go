package egress

import "brig/netns/egress/policy"

// The types of package policy, for embedders. That package parses and evaluates policies; this one applies them.
type (
	Policy   = policy.Policy
	Rule     = policy.Rule
	Ports    = policy.Ports
	Mode     = policy.Mode
	Bytes    = policy.Bytes
	Duration = policy.Duration
	Problem  = policy.Problem
	Matcher  = policy.Matcher
	Decision = policy.Decision
	Reason   = policy.Reason
	Row      = policy.Row
)

// The functions of package policy.
var (
	ParsePolicy   = policy.ParsePolicy
	LoadPolicy    = policy.LoadPolicy
	ParseRule     = policy.ParseRule
	NormalizeName = policy.NormalizeName
	Effective     = policy.Effective
	Blocked       = policy.Blocked
	Metadata      = policy.Metadata
	Reasons       = policy.Reasons
)

// Bounds and defaults of a Policy.
const (
	DefaultMaxConnections = policy.DefaultMaxConnections
	DefaultConnectTimeout = policy.DefaultConnectTimeout
	DefaultIdleTimeout    = policy.DefaultIdleTimeout
	DefaultNamesPerSecond = policy.DefaultNamesPerSecond
	MaxListeners          = policy.MaxListeners
	MaxUDPPorts           = policy.MaxUDPPorts
	MaxRules              = policy.MaxRules
)

// The modes of a Rule.
const (
	ModeDefault = policy.ModeDefault
	ModeTCP     = policy.ModeTCP
	ModeTLS     = policy.ModeTLS
	ModeHTTP    = policy.ModeHTTP
	ModeUDP     = policy.ModeUDP
)

// The reasons of a refused attempt.
const (
	ReasonNone           = policy.ReasonNone
	ReasonNoRule         = policy.ReasonNoRule
	ReasonPort           = policy.ReasonPort
	ReasonDenied         = policy.ReasonDenied
	ReasonBlocked        = policy.ReasonBlocked
	ReasonMetadata       = policy.ReasonMetadata
	ReasonOwnAddress     = policy.ReasonOwnAddress
	ReasonNameInvalid    = policy.ReasonNameInvalid
	ReasonSNIMismatch    = policy.ReasonSNIMismatch
	ReasonNoSNI          = policy.ReasonNoSNI
	ReasonNotTLS         = policy.ReasonNotTLS
	ReasonHostMismatch   = policy.ReasonHostMismatch
	ReasonNotHTTP        = policy.ReasonNotHTTP
	ReasonMethod         = policy.ReasonMethod
	ReasonPath           = policy.ReasonPath
	ReasonResolveFailed  = policy.ReasonResolveFailed
	ReasonNoAddress      = policy.ReasonNoAddress
	ReasonConnectFailed  = policy.ReasonConnectFailed
	ReasonConnectTimeout = policy.ReasonConnectTimeout
	ReasonIdleTimeout    = policy.ReasonIdleTimeout
	ReasonSlow           = policy.ReasonSlow
	ReasonMaxConnections = policy.ReasonMaxConnections
	ReasonRate           = policy.ReasonRate
	ReasonMaxBytes       = policy.ReasonMaxBytes
	ReasonProtocol       = policy.ReasonProtocol
	ReasonUDP            = policy.ReasonUDP
	ReasonPoolExhausted  = policy.ReasonPoolExhausted
	ReasonClosed         = policy.ReasonClosed
	ReasonResources      = policy.ReasonResources
	ReasonType           = policy.ReasonType
)
