package changes

import "golang.org/x/sys/unix"

// committer renames what a stager has prepared.
type committer struct {
	*site
	notes *notes
}

// commit renames what was prepared. Up to the note that it is done, undo takes everything back.
func (c *committer) commit(units []*unit) error {
	if err := c.reached("ready"); err != nil {
		return err
	}
	for _, u := range units {
		if err := c.swap(u); err != nil {
			return at(string(u.file.Path), err)
		}
	}
	// One syncfs(2), since fsync(2) of each of 50,000 files takes minutes on a disk. syncfs(2) rejects O_PATH.
	fd, err := open(c.dir, ".", read|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Syncfs(fd); err != nil {
		return err
	}
	if err := c.reached("synced"); err != nil {
		return err
	}
	return c.notes.phase(done)
}

// swap renames what was prepared for a unit to its name. What was there then has the temporary name. It must be what
// the plan has seen.
func (c *committer) swap(u *unit) error {
	dir, name, err := c.enter(u.file.Path)
	if err != nil {
		return err
	}
	temp, removes := c.temp(u.file), u.new == (inode{})
	if err := c.reached("swap " + name); err != nil {
		return err
	}
	if removes {
		if err := c.reached("remove " + name); err != nil {
			return err
		}
		err = move(dir, name, temp)
	} else if u.old == (inode{}) {
		err = move(dir, temp, name)
	} else {
		err = exchange(dir, temp, name)
	}
	switch {
	case err == unix.EEXIST && removes:
		return errTaken
	case err == unix.EEXIST || err == unix.ENOENT:
		return errMoved
	case err != nil:
		return err
	}
	if err := c.reached("renamed " + name); err != nil {
		return err
	}
	return c.verify(u)
}

// verify compares what a unit had, and has the temporary name now, with what the plan has seen.
func (c *committer) verify(u *unit) error {
	for i := range u.tasks {
		t := &u.tasks[i]
		if t.now == nil {
			continue
		}
		dir, name, err := c.enter(c.tempPath(u.file, t.file))
		if err == nil {
			var st *unix.Stat_t
			if st, err = stat(dir, name); err == nil && !same(st, t.now.stat) {
				err = errMoved
			}
		}
		if missing(err) {
			err = errMoved
		}
		if err != nil {
			return err
		}
	}
	return nil
}
