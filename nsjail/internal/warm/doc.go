// Package warm holds what a Runner keeps ready beside its launcher: network namespaces with lo up, and a second
// launcher in the host's root, the mount helper, which makes what needs capabilities there. docs/warm.md has the
// whole.
package warm
