package plan

import (
	"cmp"

	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
	"brig/rootfs"
)

// imageRoot resolves the entries of a root from an image. Its devices and procfs are made as in a minimal root, before
// the image is looked at.
func (r *resolver) imageRoot() {
	r.image()
	r.devices(rootfs.Scratch)
	r.scratch("/dev/shm")
	r.proc()
	r.masks(false)
	r.everywhere = len(r.root.Entries)
	r.root.Image.Carried = []string{"dev", "proc"}
	r.add(rootfs.Entry{Kind: rootfs.ImageTree, Label: "image"})
	if r.Host.Missing["proc"] != "" {
		r.root.Image.Carried = []string{"dev"}
		r.add(rootfs.Entry{Kind: rootfs.Dir, Label: "proc", Target: "proc", Mode: 0o555})
	}
	if r.root.Image.Overlay {
		r.hostsOfImage()
	}
	r.scratch("/tmp", spec.DefaultWorkdir)
}

// image makes the caller's directory the root.
func (r *resolver) image() {
	src := r.Host.Sources["rootfs"]
	img := &rootfs.Image{Writable: r.Spec.Rootfs.Writable, Keep: r.Spec.Rootfs.Keep}
	r.root.Image, r.root.Size = img, int64(cmp.Or(r.Spec.Scratch, spec.DefaultRootSize))
	r.root.Inodes = spec.DefaultRootInodes
	img.Overlay = r.require("overlay", "a layer of the jail's own", cmp.Or(src.NoOverlay, r.noIDMapLayer()), "bind")
	img.Complete = r.Host.ImageComplete
	img.Source = r.source("rootfs", "/", attrRead, false)
	if img.Writable {
		r.writableRoot(img, src)
	}
}

// writableRoot resolves where the changes of the root go.
func (r *resolver) writableRoot(img *rootfs.Image, src *host.Source) {
	m := r.Spec.COW(spec.Root)
	r.mayOverlay(spec.Root, m, src)
	if img.Upper = r.upper(spec.Root, m); img.Upper == nil {
		r.root.Size, r.root.Inodes = int64(m.Size), m.Inodes
	}
	if img.Keep {
		r.Uppers = append(r.Uppers, spec.Root)
	}
}

// hostsOfImage adds what an image lacks of the files by which programs find hosts. A network of the jail's own needs no
// resolv.conf(5): the default is a server at 127.0.0.1.
func (r *resolver) hostsOfImage() {
	for _, f := range r.Host.ImageLacks {
		switch {
		case r.net() == spec.NetHost:
			r.add(rootfs.Entry{Kind: rootfs.Copy, Label: "etc", Target: f, Source: rootfs.Source{Path: "/" + f},
				Size: host.MaxEtcFile, Mode: 0o444})
		case f == "etc/hosts":
			r.add(rootfs.Entry{Kind: rootfs.File, Label: "etc", Target: f, Text: r.hosts(), Mode: 0o444})
		}
	}
}
