// Package warm holds what a Runner keeps ready beside its launcher: network namespaces with lo up, and a second
// launcher in the host's root, the mount helper, which makes what needs capabilities there. None of it changes what a
// jail is: the same phases are performed in the same order, and `brig explain` prints them.
//
// # The prepared root
//
// A Runner executes /proc/self/exe once for its launcher. This launcher leaves the host's tree: it gets a mount
// namespace of its own, for an ordinary user also a user namespace, and a tmpfs with the host's /usr, its devices,
// copies of a few files of /etc and the procfs of a pid namespace without processes. A jail that starts there copies a
// dozen mounts instead of all of the host's, overlays /etc as a whole, and covers the prepared root with its own root
// instead of unmounting it.
//
// Two more launchers are started only if needed. The mount helper stays in the host's tree: it makes network namespaces
// for the pool, and the mounts of an ordinary caller's sources. The volume helper has the mount namespace in which
// volumes are attached. Both pass what they make to the keeper as descriptors.
//
// # Prefix and suffix
//
// A Runner's program has two parts. The prefix depends on the kind of Spec only. It is planned once for each kind and
// ends with the operation "park", which waits on the report socket. The suffix is planned for each run, while the
// launcher works on the prefix.
//
//	prefix   procfs, session, loopback, bounding set, identity, tree, names
//	         [, read-only root, capabilities, init, filter]   park
//	suffix   [the caller's mounts, read-only root, capabilities, init,]
//	         streams, limits, working directory [, filter], execve(2)
//
// The phases in brackets are in the prefix unless the Spec has mounts of its own. The filter is there only if it
// permits the system calls that receive and perform the suffix.
//
// Each run opens its sources again and compares them with the prefix's. It reads the mount table for what is mounted
// below the sources. If the root is the only source, it does so only after the kernel has reported a change of that
// table (poll(2)).
//
// A parked process that finds the report socket closed exits.
package warm
