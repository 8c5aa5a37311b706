// Package host reads the machine. Look returns the facts that a Spec needs of it as a Host: identity, kernel, control
// groups, mount sources, filter. It is the only reading of the machine, and it changes nothing.
package host
