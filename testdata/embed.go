// Package testdata holds the attacks for brigd verify.
package testdata

import "embed"

// Files are the attacks and the module that they import.
//
//go:embed escape/*.py payload/kernel.py
var Files embed.FS
