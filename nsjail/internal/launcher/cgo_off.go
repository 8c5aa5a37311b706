//go:build !cgo

package launcher

// The name is the message of a build with CGO_ENABLED=0. Nothing else of the package is missed then.
type (
	Launcher = brig_needs_cgo_and_libseccomp_dev_see_examples_README_md
	OpError  = Launcher
)
