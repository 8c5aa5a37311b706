// Package lint has the bounds of this module. Imports, sizes and documents of both are tested by brig/internal/lint.
package lint
