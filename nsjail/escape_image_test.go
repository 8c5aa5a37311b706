package nsjail

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"brig/internal/attack"
	"brig/internal/test/long"
	"brig/nsjail/spec"
)

// imageOfUsr returns a root without files, for a mount of the host's /usr in it.
func imageOfUsr(t *testing.T) string {
	t.Helper()
	image := t.TempDir()
	err := errors.Join(os.Chmod(filepath.Dir(image), 0o755), os.Chmod(image, 0o755), os.Mkdir(image+"/usr", 0o755))
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		err = errors.Join(err, os.Symlink("usr/"+name, filepath.Join(image, name)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// TestEscapeImage runs the attacks in a Runner's jails whose root is an image, with the host's /usr in it.
func TestEscapeImage(t *testing.T) {
	image := imageOfUsr(t)
	r := runnerWith(t, RunnerOptions{})
	t.Run("attacks", func(t *testing.T) {
		for i, a := range loadAttacks(t) {
			if len(a.Plans) > 0 || a.Name == "file-accounts.py" { // of the default /etc
				continue
			}
			t.Run(a.Name, func(t *testing.T) {
				if i%8 != 1 {
					long.Test(t)
				}
				t.Parallel()
				a.skip(t)
				s, jail := a.setUp(t, false)
				if jail.Rootfs.Path != "" {
					t.Skip("it has an image of its own")
				}
				jail.Rootfs.Path = image
				usr := spec.Mount{Type: spec.MountBind, Source: "/usr", Target: "/usr"}
				jail.Mounts = append([]spec.Mount{usr}, jail.Mounts...)
				if !preparable(jail) {
					t.Skip("it starts from the host's root")
				}
				if v, detail := a.runIn(t, s, jail, r, false); v != attack.Contained {
					t.Errorf("%s\nin a Runner's jail with an image: %s, %s", a.Claim, v, detail)
				}
			})
		}
	})
}
