package plan

import (
	"cmp"
	"slices"

	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
	"brig/rootfs"
)

// image decides the entries of a root from an image. Its devices and procfs are made as in a minimal root, before the
// image is looked at.
func (t *tree) image(x *sources) {
	img := &rootfs.Image{Writable: x.Rootfs.Writable, Keep: x.Rootfs.Keep, Carried: []string{"dev", "proc"}}
	t.root.Image, t.root.Size = img, int64(cmp.Or(x.Scratch, spec.DefaultRootSize))
	t.root.Inodes = spec.DefaultRootInodes
	t.take(x, img)
	entries := slices.Concat(devices(rootfs.Scratch), scratch(x.Spec, "/dev/shm"), procEntries(x.input, x.out),
		masks(x.host, false))
	t.everywhere = len(entries)
	entries = append(entries, rootfs.Entry{Kind: rootfs.ImageTree, Label: "image"})
	if x.host.Missing["proc"] != "" {
		img.Carried = []string{"dev"}
		entries = append(entries, emptyProc())
	}
	if img.Overlay {
		entries = append(entries, hostsOfImage(x.input)...)
	}
	t.root.Entries = append(entries, scratch(x.Spec, "/tmp", spec.DefaultWorkdir)...)
}

// take makes the caller's directory the root, and decides where the changes of a writable one go.
func (t *tree) take(x *sources, img *rootfs.Image) {
	src := x.host.Sources.Of(spec.Root)
	img.Overlay = x.out.require(x.Spec, "overlay", "a layer of the jail's own", words.Plain(cmp.Or(src.NoOverlay,
		noIDMapLayer(x.host))), "bind")
	img.Complete, img.Tops = x.host.ImageComplete, x.host.ImageTops
	img.Source = x.source(host.SourceOf(spec.Root), "/", attrRead, false)
	if !img.Writable {
		return
	}
	m := x.COW(spec.Root)
	mayOverlay(x, spec.Root, m, src)
	if img.Upper = t.layers.upper(x, spec.Root, m); img.Upper == nil {
		t.root.Size, t.root.Inodes = int64(m.Size), m.Inodes
	}
	if img.Keep {
		t.layers.sent = append(t.layers.sent, spec.Root)
	}
}

// hostsOfImage returns what an image lacks of the files by which programs find hosts. A network of the jail's own needs
// no resolv.conf(5): the default is a server at 127.0.0.1.
func hostsOfImage(in *input) (list []rootfs.Entry) {
	for _, f := range in.host.ImageLacks {
		switch {
		case netOf(in.Spec) == spec.NetHost:
			list = append(list, copyOf(f))
		case f == "etc/hosts":
			list = append(list, rootfs.Entry{Kind: rootfs.File, Label: "etc", Target: f,
				Text: hostsFile(identityOf(in.Spec).hostname), Mode: 0o444})
		}
	}
	return list
}
