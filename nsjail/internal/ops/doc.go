// Package ops writes operations that the programs of several kinds of jails share: one function for each thing that a
// process of a jail does with a few system calls. It decides nothing: who calls it has decided.
package ops
