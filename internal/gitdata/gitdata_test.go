package gitdata

import "testing"

func TestOf(t *testing.T) {
	known := func(dir string) bool {
		return dir == "worktrees/w" || dir == "modules/a/b" || dir == "modules/a/b/worktrees/x"
	}
	for path, want := range map[string]Place{
		"HEAD":           {Head, "HEAD", ValidHead, true},
		"index":          {Head, "index", Names, false},
		"ORIG_HEAD":      {Head, "ORIG_HEAD", Reference, false},
		"MERGE_MSG":      {Head, "MERGE_MSG", Any, false},
		"COMMIT_EDITMSG": {Head, "COMMIT_EDITMSG", Any, false},
		"sharedindex.0123456789abcdef0123456789abcdef01234567": {Head,
			"sharedindex.0123456789abcdef0123456789abcdef01234567", Names, false},
		"sharedindex.x":                 {Other, "sharedindex.x", Any, false},
		"MERGE_RR":                      {Other, "MERGE_RR", Any, false},
		"config":                        {Other, "config", Any, false},
		"hooks/pre-commit":              {Other, "hooks/pre-commit", Any, false},
		"index.lock":                    {Noise, "index.lock", Any, false},
		"refs":                          {Ref, "refs", Reference, true},
		"refs/heads/HEAD":               {Ref, "refs/heads/HEAD", Reference, false},
		"refs/heads/main.lock":          {Noise, "refs/heads/main.lock", Any, false},
		"logs/refs/heads/main":          {Ref, "logs/refs/heads/main", Any, false},
		"packed-refs":                   {Ref, "packed-refs", Any, false},
		"objects":                       {Object, "objects", Any, true},
		"objects/pack":                  {Object, "objects/pack", Any, true},
		"objects/pack/pack-1.pack":      {Object, "objects/pack/pack-1.pack", Any, false},
		"objects/pack/multi-pack-index": {Index, "objects/pack/multi-pack-index", Any, false},
		"objects/pack/tmp_pack_1":       {Noise, "objects/pack/tmp_pack_1", Any, false},
		"objects/ab/cdef":               {Object, "objects/ab/cdef", Any, false},
		"objects/info":                  {Other, "objects/info", Any, false},
		"objects/info/alternates":       {Other, "objects/info/alternates", Any, false},
		"objects/info/commit-graph":     {Noise, "objects/info/commit-graph", Any, false},
		"reftable/tables.list":          {Ref, "reftable/tables.list", Tables, false},
		"rebase-merge/git-rebase-todo":  {Other, "rebase-merge", Any, false},
		"worktrees":                     {Other, "worktrees", Any, false},
		"worktrees/w":                   {Other, "worktrees/w", Any, false},
		"worktrees/w/HEAD":              {Head, "worktrees/w/HEAD", ValidHead, true},
		"worktrees/w/logs/HEAD":         {Ref, "worktrees/w/logs/HEAD", Any, false},
		"worktrees/w/commondir":         {Other, "worktrees/w/commondir", Any, false},
		"worktrees/w/config.worktree":   {Other, "worktrees/w/config.worktree", Any, false},
		"worktrees/new/HEAD":            {Other, "worktrees/new", Any, false},
		"worktrees/new/x/HEAD":          {Other, "worktrees/new", Any, false},
		"modules/a/b/objects/1":         {Object, "modules/a/b/objects/1", Any, false},
		"modules/a/b/config":            {Other, "modules/a/b/config", Any, false},
		"modules/a/b/worktrees/x/index": {Head, "modules/a/b/worktrees/x/index", Names, false},
		"modules/a/b/worktrees/y/index": {Other, "modules/a/b/worktrees/y", Any, false},
		"modules/a/HEAD":                {Other, "modules/a", Any, false},
		"modules/new/refs/heads/main":   {Other, "modules/new", Any, false},
	} {
		if got := Of(path, known); got != want {
			t.Errorf("%s: %+v, want %+v", path, got, want)
		}
	}
}

func TestBad(t *testing.T) {
	const hash = "0123456789abcdef0123456789abcdef01234567"
	for _, c := range []struct {
		text Text
		s    string
		bad  bool
	}{
		{ValidHead, hash + "\n", false},
		{ValidHead, "ref: refs/heads/main\n", false},
		{ValidHead, "ref:\trefs/heads/a/b \n", false},
		{ValidHead, "", true},
		{ValidHead, "ref: config\n", true},
		{ValidHead, "ref: refs/../config\n", true},
		{ValidHead, "ref: refs/heads/.x\n", true},
		{ValidHead, "ref: refs/heads/x\nref: refs/heads/y\n", true},
		{ValidHead, hash[1:] + "\n", true},
		{Reference, hash + "\t\tbranch 'x' of y\n", false},
		{Reference, "", false},
		{Reference, "ref: refs/remotes/origin/main\n", false},
		{Reference, "ref: ../../../x\n", true},
		{Reference, "ref: hooks/post-commit\n", true},
		{Reference, "ref:refs/heads/x.lock\n", true},
		{Reference, "ref: refs//x", true},
		{Tables, "0x000000000001-0x000000000002-0a1b2c3d.ref\n", false},
		{Tables, "../../x.ref\n", true},
		{Tables, "config\n", true},
		{Any, "ref: config", false},
	} {
		if got := c.text.Bad(c.s); (got != "") != c.bad {
			t.Errorf("%d %q: %q", c.text, c.s, got)
		}
	}
}
