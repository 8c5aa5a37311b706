package token

import (
	"fmt"

	"brig/brigd/job"
)

// The codes of this package's Refusals, whose Layer is "token".
const (
	CodeMalformed   = "token_malformed"     // not a token of this version
	CodeUntrusted   = "token_untrusted"     // signed by a key that is not trusted here
	CodeSignature   = "token_signature"     // modified, or combined from several tokens
	CodeExpired     = "token_expired"       // after its expiry
	CodeNotYetValid = "token_not_yet_valid" // before its start
	CodeRevoked     = "token_revoked"       // revoked
	CodeSpent       = "token_spent"         // no runs left
	CodeSealed      = "token_sealed"        // sealed: cannot be narrowed
	CodeWider       = "token_wider"         // a new block would lift a restriction of an earlier one
	CodeLedger      = "token_ledger"        // the ledger cannot be read or written, so nothing is allowed
)

var nextSteps = map[string]string{
	CodeMalformed:   "Pass the whole token as it was issued: one line that begins with brig1.",
	CodeUntrusted:   "Ask whoever runs this service for a token that it has issued, or to trust the issuer's public key.",
	CodeSignature:   "Ask for a new token; this one was altered on its way.",
	CodeExpired:     "Ask for a new token.",
	CodeNotYetValid: "Wait until the token begins, or ask for one that is valid now.",
	CodeRevoked:     "Ask whoever gave you the token; do not try it again.",
	CodeSpent:       "Ask for a token with more runs.",
	CodeSealed:      "Use the token as it is, or narrow the one from before it was sealed.",
	CodeWider:       "Leave the field out, or narrow it further.",
	CodeLedger:      "Tell whoever runs this service; nothing is wrong with the token.",
}

func refuse(code, rule, format string, args ...any) *job.Refusal {
	r := &job.Refusal{Message: fmt.Sprintf(format, args...), Code: code, Layer: "token", Rule: rule}
	if step := nextSteps[code]; step != "" {
		r.NextSteps = []string{step}
	}
	return r
}

func malformed(format string, args ...any) *job.Refusal {
	return refuse(CodeMalformed, "", "this is not a token: "+format, args...)
}
