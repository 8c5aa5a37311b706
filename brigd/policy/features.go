package policy

import (
	"maps"
	"math"
	"slices"

	"brig/brigd/job"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// features maps each feature to a short description. A feature is something that a Spec can ask for and for which a
// Policy has no field.
var features = map[string]string{
	"tty":           "a terminal of its own",
	"no_init":       "to be process 1 of its pid namespace",
	"tier":          "to run without namespaces",
	"label":         "an AppArmor profile or an SELinux context of its choice",
	"user":          "an identity other than 1000:1000",
	"live":          "to see changes of the host's files at once",
	"cow_disk":      "to keep the changes of a cow mount, or of its root, on disk",
	"writable_root": "to write to a copy of its root",
	"shared_system": "the host's /usr by a bind, through which locks and watches cross",
	"priority":      "a share, a reserve or a burst of processor, memory or device traffic before others",
	"cpuset":        "a choice of processors and memory nodes",
	"io":            "limits on block devices, which name files of the host",
	"rlimits":       "resource limits above nsjail's defaults",
	"cgroup_parent": "a control group of the host to be made below",
	"cgroup_files":  "other files of its control group, which can lift the ceilings of memory, processes and processors",
}

// featureRules are the features that a run may ask for.
type featureRules struct {
	rule
	list   []string
	limits *Limits
}

func (p *Policy) features() *featureRules { return &featureRules{p.rule(), p.Features, &p.Limits} }

func (f *featureRules) check(c *checker) { c.oneOf("features", f.list, featureNames()) }

func featureNames() []string { return slices.Sorted(maps.Keys(features)) }

// extra is a field of a Spec that requires a feature.
type extra struct {
	asked          bool
	feature, field string
}

// judge refuses a Spec that uses a feature which the policy does not list.
func (f *featureRules) judge(j *job.Job) *job.Refusal {
	s, plain := &j.Spec, []string{"", "1000", "1000:1000"} // the default user, in either spelling
	if j.Image != nil {
		plain = append(plain, j.Image.User)
	}
	for _, e := range slices.Concat([]extra{
		{s.TTY, "tty", "tty"},
		{s.NoInit, "no_init", "no_init"},
		{s.Tier != "", "tier", "tier"},
		{s.AppArmor != "", "label", "apparmor"},
		{s.SELinuxLabel != "", "label", "selinux_label"},
		{!slices.Contains(plain, s.User), "user", "user"},
		{s.Rootfs.Writable, "writable_root", "rootfs.writable"},
		{s.Rootfs.System == spec.SystemShared, "shared_system", "rootfs.system"},
	}, limitExtras(&s.Limits), []extra{
		{s.CgroupParent != "", "cgroup_parent", "cgroup_parent"},
		{slices.ContainsFunc(s.Mounts, func(m nsjail.Mount) bool { return m.Live }), "live", "mounts.live"},
		{onDisk(s, false), "cow_disk", "mounts.store"},
		{onDisk(s, true), "cow_disk", "rootfs.store"},
	}) {
		if e.asked && !f.has(e.feature) {
			return f.noFeature(e.feature, e.field)
		}
	}
	return nil
}

// onDisk reports whether the changes of the root, or of another mount, may be kept on disk. For a share the operator
// has decided that.
func onDisk(s *nsjail.Spec, root bool) bool {
	for i, m := range s.COWs() {
		if i < 0 == root && m.MayUseDisk() && m.Held == nil {
			return true
		}
	}
	return false
}

// limitExtras returns the limits that require a feature, grouped by feature.
func limitExtras(l *nsjail.Limits) (list []extra) {
	for i := range limitTable() {
		feature := limitTable()[i].Feature
		if feature == "" || slices.ContainsFunc(list, func(e extra) bool { return e.feature == feature }) {
			continue
		}
		for k := range limitTable() {
			if r := &limitTable()[k]; r.Feature == feature {
				list = append(list, extra{r.IsSet(l), feature, "limits." + r.Name})
			}
		}
	}
	return list
}

func (f *featureRules) has(feature string) bool {
	return open(f.rule, f.list) || slices.Contains(f.list, feature)
}

func (f *featureRules) noFeature(feature, field string) *job.Refusal {
	return f.refusal("features", "feature_not_allowed", field+" asks for "+features[feature]+", which is not allowed",
		"Leave "+field+" out.")
}

// rlimits refuses a resource limit above nsjail's default, unless a ceiling of this policy will lower it. Without a
// default only infinity is refused.
func (f *featureRules) rlimits(s *nsjail.Spec) *job.Refusal {
	if f.has("rlimits") {
		return nil
	}
	bounded := map[string]bool{"nproc": f.limits.Processes > 0, "fsize": f.limits.FileSize > 0,
		"nofile": f.limits.OpenFiles > 0}
	for _, name := range slices.Sorted(maps.Keys(s.Limits.Rlimits)) {
		most, _ := rlimit(&nsjail.Spec{}, name)
		asked, _ := rlimit(s, name)
		if !bounded[name] && asked.Hard > min(most.Hard, math.MaxInt64-1) {
			return f.noFeature("rlimits", "limits.rlimits."+name)
		}
	}
	return nil
}
