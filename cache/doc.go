// Package cache keeps directories for the caches of tools from one run to the next: what go, npm, pip, cargo, maven or
// ccache have downloaded and built. A cache is a directory of brig's own for one user, one tool, one image, one
// architecture, and one key of the caller's or else one Level of trust; a run with anything else has another one.
//
// A jail knows nothing of it. Cache.Mount is a writable bind of a directory that is held open, and Tool.Variables are
// the variables by which the tool finds it:
//
//	store, err := cache.Open()
//	c, err := store.Use(tool, cache.Key{Root: cache.HostRoot}, 4<<30)
//	cmd.Spec.Mounts = append(cmd.Spec.Mounts, c.Mount())
//	cmd.Spec.Env = append(cmd.Spec.Env, tool.Variables(set, 4<<30)...)
//	... run the jail ...
//	report, err := c.Release()
//
// The payload controls all that is in the directory: names, links, modes, depth. It is input of later runs with the
// same key and of nothing else. This package reads no file of it and follows no link. Release counts it, and removes
// sockets and FIFOs, and what was not used for longest until it is within its size again; meanwhile it is locked, and
// no jail uses it.
package cache
