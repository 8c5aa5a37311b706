package bwrap

import (
	"errors"
)

// check refuses options that exclude each other. What depends on the caller's ids is the planner's.
func (o *Options) check() error {
	for _, rule := range []struct {
		broken bool
		text   string
	}{
		{o.UsernsBlockFD != NoFD && !o.UnshareUser, "--userns-block-fd requires --unshare-user"},
		{o.UsernsBlockFD != NoFD && o.InfoFD == NoFD, "--userns-block-fd requires --info-fd"},
		{o.UsernsFD != NoFD && o.UnshareUser, "--userns not compatible --unshare-user"},
		{o.UsernsFD != NoFD && o.UnshareUserTry, "--userns not compatible --unshare-user-try"},
		{o.DisableUserns && !o.UnshareUser, "--disable-userns requires --unshare-user"},
		{o.DisableUserns && o.UsernsBlockFD != NoFD, "--disable-userns is not compatible with --userns-block-fd"},
		{o.Hostname != "" && !o.UnshareUTS, "Specifying --hostname requires --unshare-uts"},
		{o.AsPID1 && !o.UnsharePID, "Specifying --as-pid-1 requires --unshare-pid"},
		{o.AsPID1 && len(o.LockFiles) > 0, "Specifying --as-pid-1 and --lock-file is not permitted"},
	} {
		if rule.broken {
			return errors.New(rule.text)
		}
	}
	return nil
}
