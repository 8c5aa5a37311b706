package nsjail

import (
	"brig/nsjail/internal/run"
	"brig/nsjail/spec"
)

// The types that most programs write. Package brig/nsjail/spec has their fields, and the rest: defaults, parsers, the
// table of limits, mechanisms, modes of a git directory.
type (
	// Spec describes a jail without reference to a machine: see spec.Spec.
	Spec = spec.Spec
	// Mount adds an entry to the jail's file tree: see spec.Mount.
	Mount = spec.Mount
	// Rootfs is a directory tree for use as the jail's root: see spec.Rootfs.
	Rootfs = spec.Rootfs
	// Limits bound what a jail uses of the machine: see spec.Limits.
	Limits = spec.Limits
	// Bytes is a size, in JSON and in flags a text such as "64m": see spec.Bytes.
	Bytes = spec.Bytes
	// Duration is a time.Duration, in JSON and in flags a text such as "1m30s": see spec.Duration.
	Duration = spec.Duration
	// Error is why a jail could not be made, with whose fault it is and a remedy: see spec.Error.
	Error = spec.Error
)

// The types of a Mount.
const (
	MountBind    = spec.MountBind
	MountTmpfs   = spec.MountTmpfs
	MountDir     = spec.MountDir
	MountFile    = spec.MountFile
	MountData    = spec.MountData
	MountSymlink = spec.MountSymlink
	MountVolume  = spec.MountVolume
	MountCOW     = spec.MountCOW
)

// The networks of a Spec.
const (
	NetLoopback = spec.NetLoopback
	NetNone     = spec.NetNone
	NetHost     = spec.NetHost
	NetEgress   = spec.NetEgress
)

// Given is a file that is a stream of the payload's itself, see Cmd.Stdin.
type Given = run.Given
