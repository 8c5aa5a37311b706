// Package workspace keeps work areas that outlive one command: /input, /work and /output of a jail, with a quota and a
// time to live, and reads and writes their files from the host without trusting anything that a payload has left in
// them.
//
// # Who there is
//
// A Volume is a file system with the directories input, work and output. Its quota of bytes and inodes is the kernel's,
// so that it holds from run to run, and against the host's own writes as well. A Tree is the host's hands in a Volume.
// A Sandbox is a Volume that belongs to an agent, with its Tree and with the runs in it; a Store has all of them, and
// the clock. The payload is in the Volume too, at the same time, and may change any name between two system calls.
//
// # Files
//
// A Tree holds one descriptor, of the Volume's root, and reaches everything from there:
//
//	openat2(2)   RESOLVE_BENEATH|RESOLVE_NO_SYMLINKS|RESOLVE_NO_MAGICLINKS|RESOLVE_NO_XDEV: no lookup leaves the Volume,
//	             whatever is renamed meanwhile, and a symbolic link ends it
//	fstat(2)     of the descriptor: what is read is a regular file, or it is not read. A FIFO, device or socket is seen
//	             as one before anything opens it, and O_NONBLOCK lets nobody wait who meets it all the same, or a lease
//	renameat(2)  a file that the host puts is written where the jail has no name for it, in the Volume's root, and is
//	             moved to its place once it is whole. It replaces a name and never writes through one: what the name
//	             stood for, a symbolic link or another name of a file that the payload has open, is not touched
//	unlinkat(2)  of one name in a directory that is held open
//
// A file with several names is as good as one with one: link(2) does not cross a mount, so the other names are in the
// same area of the same Volume. Paths have no "..": only Allowed, which answers for the jail, follows it, step by step.
//
// Work is bounded: by the entries and the time that one call may take, by the length of a path (4095 bytes) and by the
// size of a list. Nothing recurses; Remove moves what lies deep up to the top of what it removes, and Open and Put hold
// no directory. What they hold while they wait for somebody ends with Tree.Close, so that a slow reader keeps no Volume
// alive.
//
// # Life
//
//	Create ── used: Acquire, release, any call of Tree but Usage ── TTL since then ──► expired ─┐
//	   │                                                            Delete, Store.Close ────────┤
//	   └ Get, List: its own agent's only                                                        ▼
//	                             not found any more; its runs end, and then the Volume is closed
//
// A sandbox with a run in it does not expire. The bytes of its quota count against Store's bounds until its Volume is
// closed.
//
// # After a crash
//
// There is nothing to recover and nothing to remove. A Volume is memory that no directory of the host names:
// descriptors of this process, and mounts of the jails in it, are all that holds it. When the process ends, even by
// SIGKILL, the jails end with it (package nsjail), and the kernel frees the rest. The ids are random, so that an old
// one is not found, rather than another agent's.
package workspace
