package host

// Descriptor numbers that are part of a program: a control message has to name the descriptors that it passes.
const (
	FdCycle     = 259 // and the one after it
	FdNamespace = 262
	FdMaster    = 262 // of the jail's terminal, passed after fdNamespace was closed
	FdSockets   = 280 // the first socket that a jail passes to its keeper
)

// NeededFiles is the least RLIMIT_NOFILE of the launcher: above the descriptor numbers of a program without sockets.
const NeededFiles = FdMaster + 1
