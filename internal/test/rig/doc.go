// Package rig is an internet for tests, offline: two network namespaces joined by a cable. In H, the pretended host, the
// test and whatever it starts live; in W, the pretended internet, servers answer at public, private and metadata addresses
// and write down who came. A capture on H's side of the cable sees every packet that leaves, and two snapshots tell what
// has changed on a host.
//
// A test calls Enter first: it runs the test again in a process whose network and mounts are its own, as root or, in a
// user namespace, as an ordinary user. Nothing of the real host's network changes, and no packet leaves the machine.
package rig
