// Package workspace keeps work areas that exist longer than one command: the directories /input, /work and /output of a
// jail, with a quota and a time to live. It reads and writes their files from the host, without trusting anything that
// a payload has stored there.
//
// # Types
//
// A Volume is a file system with the directories input, work and output. The kernel enforces its quota of bytes and
// inodes, across runs and also for writes by the host. A Tree accesses the files of a Volume from the host. A Sandbox
// is a Volume that belongs to an agent, with its Tree and its current runs. A Store holds all sandboxes and expires
// them. Payloads use the Volume at the same time, and may rename any file between two system calls of the host.
//
// # Files
//
// A Tree holds one descriptor, of the Volume's root, and opens everything from it:
//
//	openat2(2)   RESOLVE_BENEATH|RESOLVE_NO_SYMLINKS|RESOLVE_NO_MAGICLINKS|RESOLVE_NO_XDEV: no lookup leaves the Volume,
//	             even if files are renamed concurrently, and a symbolic link is an error
//	fstat(2)     of the descriptor: only regular files are read. A FIFO, device or socket is detected before it is
//	             opened for reading. If one replaces the file in between, or the file has a lease, O_NONBLOCK keeps
//	             open(2) from blocking
//	renameat(2)  a file is written under a temporary name in the Volume's root, which the jail does not see, and renamed
//	             when it is complete. This replaces the directory entry and never writes through it: the target of a
//	             symbolic link, or another hard link to a file that the payload has open, is not modified
//	unlinkat(2)  of one name in a directory whose descriptor is held; Move has renameat2(2) of two such names
//	chmod(2)     of /proc/self/fd/N for a descriptor that O_PATH has opened: of the file that was looked at
//
// Watches tell what happens to files by inotify(7). Each directory is opened like any other, and watched through
// /proc/self/fd/N; its descriptor is not kept, and a watch does not keep a Volume alive.
//
// Hard links are harmless: link(2) does not cross a mount, so all names of a file are in the same area of the same
// Volume. Paths must not contain "..". Only Allowed, which answers for the jail, has it resolved: by the kernel, with
// the ids of the payload's user and the Volume as root directory.
//
// Work is bounded: by the number of entries and the time of one call, by the length of a path (4095 bytes), and by the
// size of a list. Nothing is recursive: Remove moves deeply nested directories to the top of the tree that it removes.
// Open and Put hold no directory. Tree.Close closes the files that they hold while the caller reads or writes slowly,
// so that such a caller does not keep a Volume alive.
//
// # Life
//
//	Create ── used: Acquire, release, any call of Tree but Usage ── TTL since then ──► expired ─┐
//	   │                                                            Delete, Store.Close ────────┤
//	   └ Get, List: its own agent's only                                                        ▼
//	                             not found any more; its runs end, and then the Volume is closed
//
// A sandbox with a run in it does not expire. Its quota counts towards the Store's bounds until its Volume is closed.
//
// # After a crash
//
// Without a store (package keep) nothing has to be recovered or removed. A Volume is memory without a path on the host.
// Only descriptors of this process and mounts in its jails refer to it. When the process ends, even by SIGKILL, its
// jails end too (package nsjail) and the kernel frees the memory. Sandbox ids are random, so an old id is not found and
// never names another agent's sandbox.
package workspace
