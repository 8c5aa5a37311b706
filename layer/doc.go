// Package layer applies OCI image layers to directories and makes layers of directories.
//
// A layer is a tar archive of what one step of an image adds, changes and removes (the OCI image specification,
// layer.md). An entry .wh.NAME removes NAME of the layers below; .wh..wh..opq in a directory removes all that they have
// there. Both directions treat their input as hostile: a layer may come from anywhere, and the upper directory of an
// overlay holds what a payload has written.
//
// # Unpack
//
// Unpack looks up every name from the descriptor of the directory, one component at a time: openat2(2) with
// RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS, RESOLVE_NO_MAGICLINKS and RESOLVE_NO_XDEV. What it writes is always a new file
// (O_EXCL), so no file of a lower layer is changed through another name of it. It decides:
//
//	/etc/x          is etc/x, as for tar(1)
//	a/../b          is refused, as are names over 4095 bytes, over 255 in one component, or over 256 levels deep
//	symbolic link   is kept as text. If it is a directory in the name of a later entry, then as an overlay would show
//	                it: a link of a lower layer is replaced by a directory, and one of this layer is followed, with the
//	                directory as its root (RESOLVE_IN_ROOT)
//	hard link       must name a file of the directory. A symbolic link gets a second name; it is not followed
//	device, FIFO,   is left out; what had the name in a lower layer is removed
//	socket
//	mode            set-user-ID and set-group-ID are dropped, and the sticky bit of files. The owner may always read a
//	                file, and read, write and search a directory, so that an ordinary user can copy and remove the tree
//	owner           is the caller
//	time            of modification is kept, for a directory without an entry that of the layer below
//	user.*          extended attributes are kept but for user.overlay.*; others, file capabilities too, are left out
//	zeros           blocks of 4096 zeros become holes, also of files that the archive does not call sparse
//
// What is left out or dropped is counted in Stats. Options bounds entries and bytes.
//
// # Index
//
// An Index makes the same tree as Unpack of a layer that Pack has written of a plain tree. It reads the headers once,
// and writes the contents in several threads, for sandboxes that are made from one snapshot again and again. Change
// applies a second layer before anything is written.
//
// # Pack
//
// Pack writes the names of each directory in the order of their bytes, owner 0:0, in the PAX format: the bytes depend
// on the tree alone. In the upper directory of an overlay it reads what overlayfs means by a 0:0 character device and
// by its attributes, which the kernel's Documentation/filesystems/overlayfs.rst describes. A renamed directory
// (overlay.redirect) or a file without its data (overlay.metacopy) cannot be a layer and is an error; brig's mounts do
// not enable either. With PackOptions.Live a payload may change the tree meanwhile. With a Table, which has a hash of
// each entry of an earlier layer of the same tree, Pack writes the entries that differ, and a whiteout for each entry
// that has been removed.
package layer
