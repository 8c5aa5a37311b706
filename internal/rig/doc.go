// Package rig is an internet for tests and brigd verify, offline: two network namespaces joined by a veth(4) pair. In
// H, the pretended host, the caller and its programs run. In W, the pretended internet, servers answer at public,
// private and metadata addresses and record their visitors. A capture at H's end sees every packet that leaves, and two
// snapshots show what has changed on a host.
//
// A test calls Enter first. Enter runs the test again in a process with new network and mount namespaces, as root or,
// in a user namespace, as an ordinary user. Nothing of the real host's network changes, and no packet leaves the
// machine.
package rig
