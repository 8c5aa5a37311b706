package engine

import (
	"errors"
	"fmt"
	"slices"

	"brig/brigd/lang"
	"brig/brigd/share"
	"brig/brigd/tenants"
	"brig/brigd/workspace"
	"brig/nsjail"
)

// opened is what an Engine has open on the machine.
type opened struct {
	runner  *nsjail.Runner
	shares  *share.Set
	tenants *tenants.Tenants // nil without shares in mode cow
	langs   *lang.Languages
	images  *images
}

// open opens what Options name.
func open(o *Options, a *access) (p *opened, err error) {
	p = &opened{}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if p.runner, err = nsjail.NewRunnerWith(o.Runner); err != nil {
		return p, err
	}
	if p.shares, err = share.Open(o.Shares); err != nil {
		return p, err
	}
	if slices.ContainsFunc(o.Shares, func(s share.Share) bool { return s.Mode == "cow" }) {
		if p.tenants, err = tenants.Open(o.ChangesDir); err != nil {
			return p, fmt.Errorf("the store of change sets: %w", err)
		}
	}
	if p.langs, err = findLanguages(o.Base.Rootfs.Path, o.Interpreters, p.shares); err != nil {
		return p, err
	}
	p.images, err = openImages(o.Images, o.ImageStore, a)
	return p, err
}

// close closes what is open.
func (p *opened) close() (err error) {
	if p.runner != nil {
		err = p.runner.Close()
	}
	if p.shares != nil {
		err = errors.Join(err, p.shares.Close())
	}
	if p.images != nil {
		err = errors.Join(err, p.images.close())
	}
	return err
}

// volume makes the volume of a sandbox.
func (p *opened) volume(size, inodes int64) (workspace.Volume, error) {
	return p.runner.NewVolume(nsjail.VolumeOptions{Size: nsjail.Bytes(size), Inodes: inodes,
		Dirs: []string{"input", "work", "output"}})
}
