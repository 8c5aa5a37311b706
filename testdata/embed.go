// Package testdata holds the attacks for brigd verify.
package testdata

import "embed"

// Files are the attacks and the modules that they import.
//
//go:embed escape/*.py egress/*.py payload/kernel.py payload/egress.py
var Files embed.FS
