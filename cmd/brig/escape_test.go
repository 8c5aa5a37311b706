package main

import (
	"os"
	"os/exec"
	"testing"
)

// TestEscapes is somebody whose payload answers no key, and somebody who suspends a shell in a jail.
func TestEscapes(t *testing.T) {
	c := onTerminal(t, "run", "--tty", "--timeout", "60s", "--", "sh", "-c", "stty raw -isig; echo ready; trap '' TERM HUP; while :; do sleep 1; done")
	c.See("ready")
	c.Keys("x\x03\r~?")
	c.See("~. ends the jail")
	c.Keys("~.")
	c.See("brig: ~. ended the jail")
	if code := c.Exit(); code != 137 {
		t.Errorf("exit code %d, want 137", code)
	}
	if _, err := os.Stat("/usr/bin/bash"); err != nil {
		t.Skip(err)
	}
	c = onTerminal(t, "version")
	c.Exit()
	c.Start(exec.Command("bash", "--norc", "--noprofile", "-i"))
	c.Keys("PS1='OUT''SIDE> '\r")
	c.See("OUTSIDE> ")
	c.Keys(brigBinary(t) + " run --tty --timeout 60s --env PS1='IN''SIDE> ' -- bash --norc --noprofile -i\r")
	for range 2 {
		c.See("INSIDE> ")
		c.Keys("suspend\r")
		c.Press("\r", "Stopped")
		c.See("OUTSIDE> ")
		c.Keys("fg\r")
	}
	c.Keys("\r")
	c.See("INSIDE> ")
	c.Keys("~\x1a")
	c.See("Stopped")
	c.See("OUTSIDE> ")
	c.Keys("fg\r")
	c.Press("\r", "INSIDE> ")
	c.Keys("exit 7\r")
	c.See("OUTSIDE> ")
	c.Keys("echo co''de=$?\r")
	c.See("code=7")
	c.Keys("exit\r")
	c.Exit()
}
