// Package plan decides what brig does on a machine: Resolve turns a Spec, the facts of a Host and the Mode of a
// launcher into a Plan. It is pure: it imports no package os and makes no system call. The order of what happens in a
// jail is the table of phases in phases.go.
package plan
