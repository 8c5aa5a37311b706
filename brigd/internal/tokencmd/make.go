package tokencmd

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"brig/brigd/internal/files"
	"brig/brigd/internal/listen"
	"brig/brigd/policy"
	"brig/brigd/token"
	"brig/internal/words"
)

// lifetime is the default lifetime of a minted token.
const lifetime = 24 * time.Hour

// maxPolicy bounds a policy file, in bytes: a token is not longer.
const maxPolicy = token.MaxText

func (c *command) keygen() error {
	if c.name == "" {
		return errors.New("--out NAME is missing: the keys are NAME.key and NAME.pub")
	}
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	if err := token.WritePrivateKey(c.name+".key", private); err != nil {
		return err
	}
	if err := token.WritePublicKey(c.name+".pub", public); err != nil {
		return errors.Join(err, os.Remove(c.name+".key"))
	}
	return c.print("key %s: %s.key is secret and issues tokens, %s.pub lets brigd check them (--token-key)\n",
		token.KeyID(public),
		words.JSON(c.name), words.JSON(c.name))
}

func (c *command) mint() error {
	switch {
	case c.key == "":
		return errors.New("--key FILE is missing: brigd token keygen makes one")
	case (c.agent == "") != c.anyAgent:
		return errors.New("write either --agent NAME or --any-agent: a token without an agent may act for all of them")
	case c.expires == "":
		c.expires = lifetime.String()
	}
	key, err := token.ReadPrivateKey(c.key)
	if err != nil {
		return KeyError("--key", err)
	}
	b, err := c.block()
	if err != nil {
		return err
	}
	t, err := token.Mint(key, b)
	return c.give(t, err)
}

func (c *command) attenuate() error {
	b, err := c.block()
	if err != nil {
		return err
	}
	t, err := c.read()
	if err == nil {
		t, err = token.Attenuate(t, b)
	}
	return c.give(t, err)
}

// give prints a token, sealed if requested.
func (c *command) give(t *token.Token, err error) error {
	if err == nil && c.seal {
		t, err = token.Seal(t)
	}
	if err != nil {
		return err
	}
	return c.print("%s\n", t.Text())
}

// ReadKeys reads the files of --token-key.
func ReadKeys(paths []string) (keys []ed25519.PublicKey, err error) {
	for _, path := range paths {
		list, err := token.ReadPublicKeys(path)
		if err != nil {
			return nil, KeyError("--token-key", err)
		}
		keys = append(keys, list...)
	}
	return keys, nil
}

// KeyError wraps the error of reading a flag's key file. If the file does not exist, it names the command that creates
// one.
func KeyError(flag string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w; brigd token keygen --out NAME makes NAME.key and NAME.pub", flag, err)
	}
	return fmt.Errorf("%s: %w", flag, err)
}

// block builds a token block from the flags.
func (c *command) block() (b token.Block, err error) {
	b = token.Block{Agent: c.agent, Runs: c.runs, Note: c.note}
	if err := listen.Foreign(c.agent); err != nil {
		return b, fmt.Errorf("--agent: %w", err)
	}
	now := time.Now()
	if b.Expires, err = instant(c.expires, now); err != nil {
		return b, fmt.Errorf("--expires: %w", err)
	}
	if !b.Expires.IsZero() && !b.Expires.After(now) {
		return b, errors.New("--expires: that is over already")
	}
	if b.NotBefore, err = instant(c.notBefore, now); err != nil {
		return b, fmt.Errorf("--not-before: %w", err)
	}
	if c.policy != "" {
		if b.Policy, err = document(c.policy); err != nil {
			return b, fmt.Errorf("--policy: %w", err)
		}
	}
	return b, nil
}

func instant(text string, now time.Time) (time.Time, error) {
	if text == "" || text == "never" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		return now.Add(d), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, fmt.Errorf("%.64q is neither a duration like 8h nor an instant like 2030-01-31T12:00:00Z", text)
	}
	return t, nil
}

// document returns a policy in the form that a token carries: a built-in profile by its name, or the content of a file,
// once it has been parsed as brigd will parse it.
func document(what string) (json.RawMessage, error) {
	var data []byte
	if slices.Contains(policy.BuiltIn(), what) {
		data = []byte(`{"name":"` + what + `","extends":"` + what + `"}`)
	} else {
		var err error
		if data, err = files.Read(what, maxPolicy); err != nil {
			return nil, fmt.Errorf("it is no built-in profile (%v), and %w", policy.BuiltIn(), err)
		}
	}
	if _, err := policy.Parse(data); err != nil {
		return nil, err
	}
	return data, nil
}
