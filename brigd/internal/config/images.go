package config

import "brig/internal/cli"

// Images are the settings of the images that requests may name.
type Images struct {
	Names []string
	Store string
}

func (m *Images) flags() []cli.Flag {
	return []cli.Flag{
		{Name: "image", Path: "jails.images", Args: "NAME", To: &m.Names,
			Help: "an image that requests may name as their root (brigd image pull NAME); the name is looked up once, " +
				"when brigd starts; may be repeated"},
		{Name: "image-store", Path: "jails.image_store", Args: "DIR", To: &m.Store, Files: true,
			Help: "where the images are, instead of /var/lib/brig/images for root, or brig/images in $XDG_DATA_HOME"},
	}
}

func (m *Images) check(g given) error {
	return g.useless(len(m.Names) == 0, " is of no use without an image; add --image NAME", "jails.image_store")
}
