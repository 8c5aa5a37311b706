package rootfs

import (
	"fmt"

	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// imageTree makes the image, an overlay of it or a directory with its entries the new root, and moves the carried
// mounts there. Each target is looked up once, and a carried mount moves with all mounts below it: a link such as
// "proc -> ." in an image moves procfs to the root of the image, together with its masks.
func (b *builder) imageTree() {
	image := b.spec.Image
	if b.root = b.mountIn("lower", &image.Source, rdonly|nosuid|nodev); image.Overlay {
		b.Program.Close(b.label, b.root)
		b.root = b.imageOverlay()
	} else if len(image.Tops) > 0 {
		b.root = b.imageTops(b.root)
	}
	b.Add(b.label, unix.SYS_FCHDIR, b.root.Arg())
	b.ours, b.made = false, map[string]bool{"": true}
	for _, name := range image.Carried {
		b.label = name
		at := b.point(name, true)
		b.Add(b.label, unix.SYS_MOVE_MOUNT, b.staging.Arg(), program.Str(name), at.Arg(), program.Str(""),
			program.Named(unix.MOVE_MOUNT_T_EMPTY_PATH, "MOVE_MOUNT_T_EMPTY_PATH"))
		b.Program.Close(b.label, at)
	}
}

// imageTops makes a directory of the staging tmpfs the new root, shows each entry of the image's top directory in it,
// and opens it. Mount points can be made there where no overlay of the image can be. Others may replace an entry until
// it is cloned, so no link is followed.
func (b *builder) imageTops(image program.Slot) program.Slot {
	const root = "root"
	b.Add(b.label, unix.SYS_MKDIRAT, program.CWD(), program.Str(root), octal(0o755))
	b.bind(root, root) // a mount of its own can become the root, read-only
	made := b.openRoot()
	flags := clone(unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT,
		"|AT_RECURSIVE|AT_SYMLINK_NOFOLLOW|AT_NO_AUTOMOUNT")
	for _, top := range b.spec.Image.Tops {
		switch name := program.Str(top.Name); {
		case top.Link != "":
			b.Add(b.label, unix.SYS_SYMLINKAT, program.Str(top.Link), made.Arg(), name)
			continue
		case top.Dir:
			b.Add(b.label, unix.SYS_MKDIRAT, made.Arg(), name, octal(0o755))
		default:
			b.Add(b.label, unix.SYS_MKNODAT, made.Arg(), name, regular(), program.Int(0))
		}
		t := b.Open(b.label, unix.SYS_OPEN_TREE, image.Arg(), program.Str(top.Name), flags)
		b.Add(b.label, unix.SYS_MOVE_MOUNT, t.Arg(), program.Str(""), made.Arg(), program.Str(top.Name), fromEmpty())
		b.Program.Close(b.label, t)
	}
	b.Program.Close(b.label, image)
	return made
}

// mountIn mounts a directory of the host at a new directory of the staging tmpfs.
func (b *builder) mountIn(name string, src *Source, attr uint64) program.Slot {
	b.Add(b.label, unix.SYS_MKDIRAT, program.CWD(), program.Str(name), octal(0o755))
	tree := b.tree(src, attr)
	b.Add(b.label, unix.SYS_MOVE_MOUNT, tree.Arg(), program.Str(""), program.CWD(), program.Str(name), fromEmpty())
	return tree
}

// imageOverlay mounts the overlay of an image in one call, and opens it. Without an upper layer it takes half the time:
// overlayfs makes files in an upper layer to find out what its file system supports. The layers have names in the
// staging tmpfs, unlike those of cow, which describes the option volatile.
func (b *builder) imageOverlay() program.Slot {
	img, made, at, options := b.spec.Image, []string{upperDir, workDir, "root"}, "", "userxattr"
	if img.Complete && !img.Writable {
		b.Add(b.label, unix.SYS_MKDIRAT, program.CWD(), program.Str("root"), octal(0o755))
		b.mountAt("overlay", "root", rdonly|nosuid|nodev, [2]string{"lowerdir", "lower:" + emptyDir},
			[2]string{"userxattr", ""})
		return b.openRoot()
	}
	if img.Upper != nil {
		b.Program.Close(b.label, b.mountIn("disk", img.Upper, nosuid|nodev))
		made, at, options = made[2:], "disk/", options+",volatile"
	}
	for _, d := range made {
		b.Add(b.label, unix.SYS_MKDIRAT, program.CWD(), program.Str(d), octal(0o755))
	}
	b.Add(b.label, unix.SYS_MOUNT, program.Str("overlay"), program.Str("root"), program.Str("overlay"),
		program.Named(unix.MS_NOSUID|unix.MS_NODEV, "MS_NOSUID|MS_NODEV"),
		program.Str(fmt.Sprintf("lowerdir=lower,upperdir=%[1]supper,workdir=%[1]swork,%[2]s", at, options)))
	if img.Keep {
		b.keepUpper(program.CWD(), at+upperDir)
	}
	return b.openRoot()
}

func (b *builder) openRoot() program.Slot {
	return b.Open(b.label, unix.SYS_OPENAT, program.CWD(), program.Str("root"), oPath(unix.O_DIRECTORY), program.Int(0))
}
