package words

import (
	"slices"
	"strings"
)

// UnknownVariable returns the message for an environment variable that is named as brig's are and is none of them, or
// "". A limit that is written wrong would otherwise be believed in.
func UnknownVariable(environ []string) string {
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "BRIG_") || value == "" {
			continue
		}
		if users := userVariables(); !slices.Contains(users, name) && !internalVariable(name) {
			return Clip(Printable(name), MaxShown) + " is not a variable of brig; " + DidYouMean(name, users)
		}
	}
	return ""
}

// ForBwrap returns a note about variables that bound the jails of brig bwrap, for a command that bounds no jail by
// them, or "". The runs of brig learn do not repeat it.
func ForBwrap(environ []string) string {
	var set []string
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if name == "BRIG_LEARN" {
			return ""
		}
		if value != "" && strings.HasPrefix(name, "BRIG_") && slices.Contains(bwrapVariables(), name) {
			set = append(set, name)
		}
	}
	if len(set) == 0 {
		return ""
	}
	return strings.Join(set, ", ") + ": read by brig bwrap alone, and without effect here"
}

// bwrapVariables returns those of cmd/brig/internal/bwrap.
func bwrapVariables() []string {
	return []string{"BRIG_MEMORY", "BRIG_PIDS", "BRIG_CPUS", "BRIG_TIMEOUT", "BRIG_ALLOW", "BRIG_SECCOMP", "BRIG_REPORT"}
}

// userVariables returns the variables that users set: bwrap's, the store of change sets, and isolate's settings.
func userVariables() []string {
	return append(bwrapVariables(), "BRIG_CHANGES", "BRIG_CHANGES_KEEP", "BRIG_ISOLATE_CONFIG")
}

// internalVariable reports whether a variable is one that this project's programs, tests and scripts set for each
// other, or that Kubernetes sets in each container beside a Service with the name brig.
func internalVariable(name string) bool {
	for _, prefix := range []string{"BRIG_TEST_", "BRIG_NEED_", "BRIG_QUEUE_", "BRIG_RIG", "BRIG_CGROUP_", "BRIG_SERVICE_",
		"BRIG_PORT"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return strings.HasSuffix(name, "_TEST_CHILD") || slices.Contains([]string{"BRIG_BIN", "BRIG_CHANGES_CRASH",
		"BRIG_JOIN_ROUNDS", "BRIG_LARGE", "BRIG_LEARN", "BRIG_NATS_SERVER", "BRIG_VERIFY_STEP"}, name)
}
