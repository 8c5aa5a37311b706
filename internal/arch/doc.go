// Package arch holds no code, only tests: the rules about what may import what and how large it may grow. They stand
// here as tables, so that breaking one is a decision that a reviewer sees.
package arch
