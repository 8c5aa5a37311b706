package spec

import (
	"slices"
	"testing"
)

func TestSensitive(t *testing.T) {
	for _, name := range []string{"GITHUB_TOKEN", "npm_token", "My_Secret_1", "API_KEY", "PASSWORD", "MYSQL_PASSWD", "PGPASSFILE",
		"SMTP_PASS", "CREDENTIALS_DIRECTORY", "AWS_REGION", "GOOGLE_APPLICATION_CREDENTIALS", "AZURE_CLIENT_ID", "GCP_PROJECT",
		"DATABASE_URL", "SSH_AUTH_SOCK", "KUBECONFIG", "DOCKER_HOST", "SENTRY_DSN", "SESSION_COOKIE", "DBUS_SESSION_BUS_ADDRESS"} {
		if !Sensitive(name) {
			t.Errorf("%s is not sensitive", name)
		}
	}
	for _, name := range []string{"PATH", "HOME", "LANG", "LC_ALL", "TERM", "EDITOR", "GIT_AUTHOR_NAME", "GOPATH", "TZ", "CI"} {
		if Sensitive(name) {
			t.Errorf("%s is sensitive", name)
		}
	}
}

func TestPassEnv(t *testing.T) {
	environ := []string{"LC_ALL=C", "LC_TIME=de", "API_KEY=k", "LC_TOKEN=t", "LD_PRELOAD=/x.so", "LC_ALL=second", "broken", "=odd",
		"HTTP_PROXY=http://u:p@proxy:1/", "HTTPS_PROXY=http://proxy:1/a:b@c", "EMPTY="}
	for _, tt := range []struct{ patterns, want []string }{
		{nil, nil},
		{[]string{"LC_*"}, []string{"LC_ALL=C", "LC_TIME=de"}},
		{[]string{"API_KEY", "UNSET", "LD_PRELOAD"}, []string{"API_KEY=k", "LD_PRELOAD=/x.so"}},
		{[]string{"*"}, []string{"LC_ALL=C", "LC_TIME=de", "HTTPS_PROXY=http://proxy:1/a:b@c", "EMPTY="}},
		{[]string{"LC_[A-T]*", "LC_TOKEN"}, []string{"LC_ALL=C", "LC_TIME=de", "LC_TOKEN=t"}},
		{[]string{"HTTP_PROXY"}, []string{"HTTP_PROXY=http://u:p@proxy:1/"}},
		{[]string{"lc_all"}, nil},
	} {
		got, err := PassEnv(tt.patterns, environ)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("PassEnv(%q) = %q, %v; want %q", tt.patterns, got, err, tt.want)
		}
	}
	if _, err := PassEnv([]string{"A", "[x"}, environ); err == nil {
		t.Error("a broken pattern is accepted")
	}
}
