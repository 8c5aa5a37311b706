package isolate

import "strings"

// environment applies the rules of --env to the caller's variables.
func (o *env) environment(environ []string) (env []string) {
	lookup := func(list []string, name string) int {
		for i, e := range list {
			if strings.HasPrefix(e, name+"=") {
				return i
			}
		}
		return -1
	}
	if o.FullEnv {
		for _, e := range environ {
			if name, _, ok := strings.Cut(e, "="); ok && name != "" && lookup(env, name) < 0 {
				env = append(env, e)
			}
		}
	}
	for _, rule := range append([]string{"LIBC_FATAL_STDERR_=1"}, o.Vars...) {
		name, v, set := strings.Cut(rule, "=")
		if i := lookup(env, name); i >= 0 {
			env = append(env[:i], env[i+1:]...)
		}
		if set && v != "" {
			env = append(env, rule)
		} else if i := lookup(environ, name); !set && i >= 0 {
			env = append(env, environ[i])
		}
	}
	return env
}
