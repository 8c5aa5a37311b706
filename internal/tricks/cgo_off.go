//go:build !cgo

package tricks

// The name is the message of a build with CGO_ENABLED=0.
var _ = brig_needs_cgo_and_libseccomp_dev_see_examples_README_md
