// Package plan decides what brig does on a machine: Resolve turns a Spec, the facts of a Host and the Mode of a
// launcher into a Plan. It is pure: it does not import os and makes no system call. The order of a program is defined
// by the table of phases in phases.go.
package plan
