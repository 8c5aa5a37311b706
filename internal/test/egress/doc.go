// Package egress proves --net egress from the outside: it runs brig in the pretended host of internal/rig, with
// payloads that attack (testdata/egress) or are ordinary clients, and looks at the pretended internet, the wire and the
// log.
package egress
