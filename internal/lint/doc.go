// Package lint holds tests only: rules about imports and sizes, and checks that the documents are true. The rules are
// tables, so that a change of one is a decision that a reviewer sees.
package lint
