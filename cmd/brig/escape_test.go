package main

import (
	"bytes"
	"os"
	"testing"
	"time"
)

// TestEscapes is somebody whose payload answers no key, and somebody who suspends a shell in a jail.
func TestEscapes(t *testing.T) {
	c := onTerminal(t, "run", "--tty", "--timeout", "60s", "--", "sh", "-c", "stty raw -isig; echo ready; trap '' TERM HUP; while :; do sleep 1; done")
	c.see("ready")
	c.keys("x\x03\r~?")
	c.see("~. ends the jail")
	c.keys("~.")
	c.see("brig: ~. ended the jail")
	if code := c.exit(); code != 137 {
		t.Errorf("exit code %d, want 137", code)
	}
	if _, err := os.Stat("/usr/bin/bash"); err != nil {
		t.Skip(err)
	}
	c = onTerminal(t, "version")
	c.exit()
	c.start("bash", "--norc", "--noprofile", "-i")
	c.keys("PS1='OUT''SIDE> '\r")
	c.see("OUTSIDE> ")
	c.keys(brigBinary(t) + " run --tty --timeout 60s --env PS1='IN''SIDE> ' -- bash --norc --noprofile -i\r")
	for range 2 {
		c.see("INSIDE> ")
		c.keys("suspend\r")
		c.pressEnter("Stopped")
		c.see("OUTSIDE> ")
		c.keys("fg\r")
	}
	c.keys("\r")
	c.see("INSIDE> ")
	c.keys("~\x1a")
	c.see("Stopped")
	c.see("OUTSIDE> ")
	c.keys("fg\r")
	c.pressEnter("INSIDE> ")
	c.keys("exit 7\r")
	c.see("OUTSIDE> ")
	c.keys("echo co''de=$?\r")
	c.see("code=7")
	c.keys("exit\r")
	c.exit()
}

// pressEnter presses the enter key again and again until the terminal shows a text.
func (c *tty) pressEnter(want string) {
	c.t.Helper()
	for range 400 {
		c.keys("\r")
		timeout := time.After(50 * time.Millisecond)
		for waits := true; waits; {
			select {
			case <-c.more:
			case <-timeout:
				waits = false
			}
			c.mu.Lock()
			shown := bytes.Contains(c.text.Bytes(), []byte(want))
			c.mu.Unlock()
			if shown {
				c.see(want)
				return
			}
		}
	}
	c.see(want) // fails
}
