package config

import "brig/internal/cli"

// Rules are the settings of what every run must satisfy.
type Rules struct {
	Policies  []string // files or names of profiles
	PolicyDir string
}

func (r *Rules) flags() []cli.Flag {
	return []cli.Flag{
		{Name: "policy", Path: "policies", Args: "NAME|FILE", To: &r.Policies,
			Help: "a policy that every run must satisfy: a profile's name, or a file (with a / or .json); may be repeated"},
		{Name: "policy-dir", Path: "policy_dir", Args: "DIR", To: &r.PolicyDir,
			Help: "look for profiles here before the built-in ones"},
	}
}

// stateFlags are those of where brigd keeps what outlives it, in dir.
func stateFlags(dir *string) []cli.Flag {
	return []cli.Flag{
		{Name: "state-dir", Path: "state_dir", Args: "DIR", To: dir,
			Help: "where tokens' runs and revocations are kept; needed with --token-key"},
	}
}
