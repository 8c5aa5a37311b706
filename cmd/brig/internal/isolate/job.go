package isolate

import "brig/nsjail"

// job is a translated command line.
type job struct {
	spec   nsjail.Spec
	temps  []string // the names in dir/tmp of temporary directories
	places []place
	shared bool // a rule of the caller's shares a directory for writing
}

// place is a directory of the host that the program sees, for the files of --stdin, --stdout and --stderr.
type place struct {
	target, source string
	writable       bool
}
