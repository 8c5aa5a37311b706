package spec

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"brig/internal/words"
)

// Sensitive reports whether a variable of this name usually holds a secret or the way to one: tokens, keys,
// passwords, cloud credentials, sockets of agents. Spec.PassEnv passes such a variable only if it is named in full.
func Sensitive(name string) bool {
	n := strings.ToUpper(name)
	is := func(test func(s, part string) bool, parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return test(n, part) })
	}
	return is(strings.Contains, "TOKEN", "SECRET", "KEY", "CREDENTIAL", "COOKIE", "CONNECTION_STRING",
		"PASS") || // PASSWORD, PASSWD, PASSPHRASE, PGPASSFILE
		is(strings.HasPrefix, "AWS_", "AZURE_", "ARM_", "GCP_", "GCLOUD_", "GOOGLE_", "CLOUDSDK_", "DIGITALOCEAN_",
			"ALICLOUD_", "HEROKU_", "VAULT_", "KUBE", "DOCKER_", "CONTAINER_HOST", "SSH_", "GPG_", "DBUS_", "SUDO_",
			"NPM_CONFIG_") ||
		is(strings.HasSuffix, "_DSN", "_AUTH", "_AUTH_CONFIG", "DATABASE_URL", "DATABASE_URI", "REDIS_URL", "MONGO_URL",
			"MONGODB_URI", "AMQP_URL", "WEBHOOK_URL", "XAUTHORITY", "NETRC", "_PAT")
}

// steersLoader reports whether a variable changes which code a program loads or runs at its start. It is not a
// secret, but the caller's value points into the caller's file system, so it too must be named in full.
func steersLoader(name string) bool {
	switch name {
	case "GLIBC_TUNABLES", "GCONV_PATH", "LOCPATH", "BASH_ENV", "ENV":
		return true
	}
	return strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "BASH_FUNC_")
}

// hasURLPassword reports whether a value is a URL with a user and a password in it, as proxy variables often are.
func hasURLPassword(value string) bool {
	_, rest, ok := strings.Cut(value, "://")
	if !ok {
		return false
	}
	authority, _, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(authority, '@')
	return at >= 0 && strings.IndexByte(authority[:at], ':') >= 0
}

// PassEnv picks from environ ("NAME=value" each) the variables that the patterns of a Spec.PassEnv name, in the order
// of environ. A pattern without * ? [ names one variable, whatever it holds; one that is not set is not passed. A glob,
// in the form of path.Match, never matches a Sensitive name, a name that steers the dynamic loader, or a value that is
// a URL with a password in it.
func PassEnv(patterns, environ []string) (passed []string, err error) {
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil {
			return nil, fmt.Errorf("%s is not a pattern: %w; close the [", words.Quote(p), err)
		}
	}
	seen := map[string]bool{}
	for _, e := range environ {
		name, value, ok := strings.Cut(e, "=")
		if !ok || name == "" || seen[name] { // getenv(3) finds the first of two
			continue
		}
		seen[name] = true
		if passes(patterns, name, value) {
			passed = append(passed, e)
		}
	}
	return passed, nil
}

func passes(patterns []string, name, value string) bool {
	for _, p := range patterns {
		if !strings.ContainsAny(p, `*?[\`) {
			if p == name {
				return true
			}
			continue
		}
		// PassEnv has found every pattern well-formed, so that Match cannot fail.
		if matched, err := path.Match(p, name); err == nil && matched &&
			!Sensitive(name) && !steersLoader(name) && !hasURLPassword(value) {
			return true
		}
	}
	return false
}
