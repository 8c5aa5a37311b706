package token_test

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"time"

	"brig/brigd/token"
)

// An operator issues a token for an agent. The agent, which has no key, passes a narrower token to a helper. The
// helper cannot regain the rights that the agent removed.
func Example() {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	agents, err := token.Mint(private, token.Block{Agent: "ci", Expires: time.Now().Add(8 * time.Hour)})
	if err != nil {
		fmt.Println(err)
		return
	}
	helpers, err := token.Attenuate(agents,
		token.Block{Runs: 1, Policy: json.RawMessage(`{"name":"only-python","languages":["python"]}`)})
	if err != nil {
		fmt.Println(err)
		return
	}

	received, err := token.Parse(helpers.Text()) // what comes with a request
	if err == nil {
		err = token.Verify(received, []ed25519.PublicKey{public}, time.Now())
	}
	fmt.Println(err, received.Agent(), len(received.Policies()))
	// Output: <nil> ci 1
}
