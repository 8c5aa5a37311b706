package policy

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"brig/brigd/job"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// variableRules are which variables a run may have.
type variableRules struct {
	rule
	Environment
}

func (p *Policy) variables() *variableRules { return &variableRules{p.rule(), p.Environment} }

func (r *variableRules) check(c *checker) {
	c.each("environment.set", r.Set, "is not a name of variables", "write it as in LC_*", validVariable)
	c.each("environment.pass", r.Pass, "is not a name of variables", "write it as in LC_*", validVariable)
}

// validVariable reports whether s is a variable's name or a glob for path.Match.
func validVariable(s string) bool {
	_, err := path.Match(s, "")
	return err == nil && s != "" && !strings.ContainsAny(s, "=\x00")
}

// judge checks the names of variables that are set or passed.
func (r *variableRules) judge(j *job.Job) *job.Refusal {
	s := &j.Spec
	for _, e := range s.Env {
		if j.Image != nil && slices.Contains(j.Image.Env, e) {
			continue
		}
		name, _, _ := strings.Cut(e, "=")
		if open(r.rule, r.Set) || variableAllowed(r.Set, name) || j.Language != "" && languageSets(s, e) {
			continue
		}
		return r.refusal("environment.set", "variable_not_allowed",
			"the variable "+words.QuoteASCII(name)+" may not be set"+steerReason(name),
			"Leave it out; these may be set: "+orNone(r.Set)+".")
	}
	for _, pattern := range s.PassEnv {
		glob := isGlob(pattern)
		if open(r.rule, r.Pass) || glob && slices.Contains(r.Pass, pattern) || !glob &&
			variableAllowed(r.Pass, pattern) {
			continue
		}
		return r.refusal("environment.pass", "variable_not_allowed",
			fmt.Sprintf("%s may not be passed from the caller's environment", words.QuoteASCII(pattern)),
			"Leave it out, or give a value of your own.")
	}
	return nil
}

func isGlob(name string) bool { return strings.ContainsAny(name, `*?[\`) }

// languageSets reports whether e is a module search path that package lang sets for a language. It compares the value
// too, so that the variable cannot have any other.
func languageSets(s *nsjail.Spec, e string) bool {
	name, value, _ := strings.Cut(e, "=")
	workdir := cmp.Or(s.Workdir, spec.DefaultWorkdir)
	return slices.Contains([]string{"PYTHONPATH", "NODE_PATH", "PERL5LIB", "RUBYLIB"}, name) &&
		(value == "/input" || value == workdir+":/input")
}

// variableAllowed reports whether a list of names and globs includes a name. A glob does not match the name of a
// secret, or of a variable that changes which code a program loads or runs. For variables that are passed,
// spec.PassEnv has the same rule.
func variableAllowed(list []string, name string) bool {
	if slices.Contains(list, name) && !isGlob(name) {
		return true
	}
	if steers(name) {
		return false
	}
	passed, err := spec.PassEnv(list, []string{name + "="})
	return err == nil && len(passed) > 0
}

// Names of variables that can change which code a program loads or runs, prefixes of such names, and harmless names
// among these.
var (
	steering = strings.Fields(`PATH ENV IFS PS4 SHELL SHELLOPTS BASHOPTS CDPATH EDITOR VISUAL PAGER BROWSER HOME TMPDIR
		PROMPT_COMMAND GLIBC_TUNABLES LOCPATH NLSPATH COMPILER_PATH LIBRARY_PATH CPATH CLASSPATH CC CXX AWKPATH AWKLIBPATH
		TERMINFO TERMCAP TAR_OPTIONS RES_OPTIONS HOSTALIASES RSYNC_RSH VIMINIT EXINIT CONFIG_SITE R_PROFILE`)
	steeringPrefixes = strings.Fields(`LD_ BASH_ PYTHON PERL RUBY GEM_ NODE_ NPM_ GIT_ GCC_ JAVA_ JDK_ _JAVA LUA_ PHP DYLD_
		GO CGO_ RUST CARGO_ MAKE LESS GTK_ QT_ SSL_ OPENSSL_ GCONV MALLOC_ XDG_`)
	harmless = strings.Fields(`PYTHONHASHSEED PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONUTF8 PYTHONIOENCODING NODE_ENV
		GOMAXPROCS GOGC GOMEMLIMIT GOOS GOARCH RUST_BACKTRACE`)
)

// steers reports whether a variable can change which code a program loads or runs, and so circumvent a list of
// commands.
func steers(name string) bool {
	name = strings.ToUpper(name)
	return !slices.Contains(harmless, name) && (slices.Contains(steering, name) ||
		slices.ContainsFunc(steeringPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }))
}

func steerReason(name string) string {
	switch {
	case spec.Sensitive(name):
		return " (its name is one of a secret's, which a policy must write out)"
	case steers(name):
		return " (it steers what programs load or run, which a policy must write out)"
	}
	return ""
}
