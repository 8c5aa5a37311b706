package verdict

// The exit codes of run besides the payload's and cli.ExitUsage.
const (
	ExitKept          = 123 // the command has run, and what it has changed could not be kept
	ExitTimeout       = 124
	ExitNotExecutable = 126
	ExitNotFound      = 127
	ExitSignal        = 128
)
