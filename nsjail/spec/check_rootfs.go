package spec

import (
	"fmt"
	"strconv"

	"brig/internal/words"
)

func checkRootfs(r Rootfs) (c problems) {
	c.hostPath("rootfs.path", r.Path)
	if c.text("rootfs.image", r.Image) && r.Image != "" && r.Path == "" {
		c.add("rootfs.image", words.Quote(r.Image)+" has not been looked up",
			"set rootfs.path to its tree (package image/asroot)")
	}
	c = append(c, checkStore("rootfs.store", r.Store)...)
	const noChanges, noRoom = "a read-only rootfs has no changes", "a read-only rootfs holds nothing"
	const orRemove = "make it writable or remove "
	for _, f := range []struct {
		wrong               bool
		field, why, instead string
	}{
		{r.System != "" && r.System != SystemPrivate && r.System != SystemShared, "system",
			words.Quote(string(r.System)) + " is not how the host's /usr is shown", "write private or shared"},
		{r.System != "" && r.Path != "", "system", "a jail with a root of its own does not show the host's /usr",
			"remove it, or leave the root out"},
		{r.Path == "" && r.Image == "" && r.Writable, "writable", "there is no rootfs to write to",
			"name a directory as its path"},
		{r.Keep && !r.Writable, "keep", noChanges, orRemove + "this"},
		{r.Store != "" && !r.Writable, "store", noChanges, orRemove + "this"},
		{r.Size < 0, "size", strconv.Itoa(int(r.Size)) + " is negative", "write a size, as in 1g"},
		{r.Size > 0 && !r.Writable, "size", noRoom, orRemove + "the size"},
		{r.Inodes < 0 || r.Inodes > DefaultRootInodes, "inodes",
			fmt.Sprintf("%d is not between 1 and %d", r.Inodes, DefaultRootInodes), "write a number of files, as in 1000"},
		{0 < r.Inodes && r.Inodes <= DefaultRootInodes && !r.Writable, "inodes", noRoom, orRemove + "the number of files"},
	} {
		if f.wrong {
			c.add("rootfs."+f.field, f.why, f.instead)
		}
	}
	return c
}

// minScratch has room for the /etc of a jail and the mount points of any Spec, in bytes.
const minScratch = 1 << 20

func checkScratch(size Bytes, root Rootfs) (c problems) {
	if size != 0 && size < minScratch {
		c.add("scratch", fmt.Sprintf("%d has no room for the jail's own files", size), "write 1m or more")
	} else if size > 0 && root.Writable && root.Store != StoreDisk {
		c.refer("scratch", "a writable root in memory holds /tmp and the like, too",
			"write the size of both as rootfs.size, as in "+words.Set("rootfs.size", "2g")+
				", or keep the root's changes on disk")
	}
	return c
}

func checkStore(field, store string) (c problems) {
	if store != "" && store != "memory" && store != StoreDisk {
		c.add(field, words.Quote(store)+" is not a store", "write memory or disk")
	}
	return c
}
