package spec

import "slices"

// Check returns everything in the Spec that is wrong on any machine. It reads no file and no setting; Resolve reports
// what the host lacks. Arguments, values of variables and paths of the host may hold any byte but NUL, as Linux allows.
// Names with a meaning inside the jail must be UTF-8.
func (s *Spec) Check() []Problem {
	return slices.Concat(
		checkArgs(s.Args, s.Env, s.Limits.Rlimits),
		checkEnv(s.Env),
		checkPassEnv(s.PassEnv),
		checkIdentity(s.Workdir, s.User, s.Hostname),
		checkRootfs(s.Rootfs),
		checkScratch(s.Scratch, s.Rootfs),
		checkMounts(s.Mounts),
		checkProtect(s.Protect, s.Mounts),
		checkGit(s.Git, s.Protect, s.Tier),
		checkEtc(s.Etc, s.Rootfs),
		checkNet(s.Net),
		checkEgress(s.Egress, s.Net),
		checkPublish(s.Publish, s.Net),
		checkSeccomp(s.Seccomp),
		checkTier(s),
		checkLabels(s.AppArmor, s.SELinuxLabel, s.Tier, s.NoInit),
		checkLimits(&s.Limits),
		checkCgroupParent(s.CgroupParent),
		checkRlimits(&s.Limits),
		checkMechanisms(s.Require, s.Optional, s.asked(), s.Rootfs.System),
	)
}
