package main

import "testing"

// TestRefusalsAtOnce: a person at a terminal is told of a refused name while the payload runs, once.
func TestRefusalsAtOnce(t *testing.T) {
	for _, flags := range [][]string{nil, {"--tty"}, {"--net-log", t.TempDir() + "/log"}} {
		c := onTerminal(t, append(append([]string{"run"}, flags...), "--allow", "a.example", "--", "sh", "-c",
			"getent hosts b.example; getent hosts b.example; getent hosts c.example; read x")...)
		c.See("brig: the network refuses b.example: no rule allows it (--allow b.example)\r")
		c.See("\nbrig: the network refuses c.example: no rule allows it (--allow c.example)\r")
		c.Keys("\r")
		c.See("the network refused b.example 2 times")
		if code := c.Exit(); code != 0 {
			t.Errorf("%q: exit code %d", flags, code)
		}
	}
}
