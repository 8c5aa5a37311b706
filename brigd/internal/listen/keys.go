package listen

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"brig/brigd/internal/files"
	"brig/internal/words"
)

// maxFile bounds certificates, keys and lists of keys, in bytes.
const maxFile = 1 << 20

// minKey is the minimum length of an API key, in bytes: a shorter one can be guessed.
const minKey = 20

// Keys are static bearer keys, each of an agent.
type Keys struct {
	agents []string
	sums   [][sha256.Size]byte
}

// LoadKeys reads a file of keys, one on a line: AGENT KEY or AGENT sha256:HEX (the digest of the key). A comment begins
// with #.
func LoadKeys(path string) (*Keys, error) {
	text, err := files.ReadSecret(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("the file of keys: %w", err)
	}
	k, err := ParseKeys(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// ParseKeys reads the text of such a file. Its errors contain no key.
func ParseKeys(text string) (*Keys, error) {
	k := &Keys{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 2 || !GoodAgent(f[0]) {
			return nil, fmt.Errorf("line %d is not an agent and its key; write AGENT KEY, where AGENT begins with a letter "+
				"or digit and has at most 64 of those and . _ -", n)
		}
		if err := Foreign(f[0]); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		sum, err := keySum(f[1])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		for _, other := range k.sums {
			if other == sum {
				return nil, fmt.Errorf("line %d has the key of an earlier line; give each agent its own", n)
			}
		}
		k.agents, k.sums = append(k.agents, f[0]), append(k.sums, sum)
	}
	if len(k.agents) == 0 {
		return nil, errors.New("there is no key in it; write a line AGENT KEY, as in: coder $(openssl rand -hex 32)")
	}
	return k, nil
}

func keySum(key string) (sum [sha256.Size]byte, err error) {
	if digits, ok := strings.CutPrefix(key, "sha256:"); ok {
		b, err := hex.DecodeString(digits)
		if err != nil || len(b) != len(sum) {
			return sum, errors.New("sha256: is not followed by 64 hexadecimal digits; write those that sha256sum(1) prints " +
				"for the key")
		}
		return [sha256.Size]byte(b), nil
	}
	if len(key) < minKey {
		return sum, fmt.Errorf("the key has %d bytes, and one of fewer than %d can be guessed; make one with openssl rand "+
			"-hex 32", len(key), minKey)
	}
	return sha256.Sum256([]byte(key)), nil
}

// Agent returns the agent of a key, in constant time.
func (k *Keys) Agent(key string) (agent string, ok bool) {
	sum, found := sha256.Sum256([]byte(key)), -1
	for i := range k.sums {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], k.sums[i][:]), i, found)
	}
	if found < 0 {
		return "", false
	}
	return k.agents[found], true
}

// localAgent and LocalUser name callers at a Unix socket: the user of this process, and another user by the number that
// follows.
const (
	localAgent = "default"
	LocalUser  = "uid-"
)

// Foreign refuses the name of a local agent to a caller authenticated by a key, a token or a certificate: with the name
// it would have that agent's sandboxes.
func Foreign(agent string) error {
	if agent == localAgent || strings.HasPrefix(agent, LocalUser) {
		return fmt.Errorf("the agent's name %q is kept for users of the Unix socket (%s, and %sNUMBER); choose another",
			words.Short(agent, words.MaxShown), localAgent, LocalUser)
	}
	return nil
}

// agentName is a word that needs no quoting in logs, file names and URLs.
var agentName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// GoodAgent reports whether s is a valid agent name.
func GoodAgent(s string) bool { return agentName.MatchString(s) }
