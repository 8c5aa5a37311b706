package nsjail

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"brig/internal/program"
)

// digestOf returns the SHA-256 of an encoded program.
func digestOf(p *program.Program, r program.Request) ([]byte, error) {
	b, err := p.Encode(r)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	return sum[:], nil
}

// digestPlan records the digest of what the launcher performs: the program, or its two parts, and the passed mounts.
func (c *Cmd) digestPlan(t *planTemplate, r program.Request) error {
	if !c.wantDigest {
		return nil
	}
	sum, err := digestOf(c.plan.Jail, r)
	if err != nil {
		return err
	}
	if t != nil {
		prefix, err := t.digest()
		if err != nil {
			return err
		}
		both := sha256.Sum256(append(prefix[:len(prefix):len(prefix)], sum...))
		sum = both[:]
	}
	h := sha256.New()
	h.Write(sum)
	for _, m := range c.plan.Passed { // the program does not contain the mounts passed by descriptor
		src := c.plan.Host.Sources[m.Key]
		fmt.Fprintf(h, "\n%q %#x %v %q %d %d %q %q", m.Key, m.Attr, m.IDMap, m.Target, src.Dev, src.Ino, src.Volume,
			src.Below)
	}
	c.digest = hex.EncodeToString(h.Sum(nil))
	return nil
}
