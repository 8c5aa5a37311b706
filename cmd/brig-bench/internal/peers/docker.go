package peers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"brig/cmd/brig-bench/internal/result"
)

// dockerPatience is how long an engine may take to start, and to stop.
const dockerPatience = 30 * time.Second

// docker is the client and its engine: the one that runs, or one of our own in a private directory.
type docker struct {
	h           *Host
	client, dir string
	socket      string        // of the engine that is used; "" before one is
	image       string        // its name
	engine      *exec.Cmd     // our own; nil for the one that was there
	ended       chan struct{} // closed when the engine has ended
}

func dockerTool(h *Host) *Tool {
	t := &Tool{Info: result.Tool{Name: "docker", Differs: []string{
		"no user namespace unless the engine is configured for it",
		"the jail's parent is the engine's, not the caller; always in a control group",
		"binds where brig overlays: locks and watches of /usr are shared with the host",
		"no init: the payload is process 1",
	}}, Kind: Peer, Limits: true, Binds: true}
	path, ok := installed(t, "docker", "docker.io")
	if !ok {
		return t
	}
	d := &docker{h: h, client: path, dir: filepath.Join(h.Dir, "docker"), image: h.name() + ":bench"}
	t.Info.Version = version(h.env(), path, "--version")
	t.open = d.open
	t.prepare = d.prepare
	t.close = d.close
	return t
}

// command is the client's, for the engine that is used.
func (d *docker) command(args ...string) []string {
	return append([]string{d.client, "--host", d.socket}, args...)
}

// open finds an engine or starts one, and gives it an image of the root.
func (d *docker) open(ctx context.Context) error {
	d.socket = "unix:///var/run/docker.sock"
	if _, err := output(d.h.env(), d.command("version", "--format", "{{.Server.Version}}")...); err != nil {
		if err := d.startEngine(ctx, err); err != nil {
			d.socket = ""
			return errors.Join(err, d.stopEngine())
		}
	}
	root, err := d.h.rootfs()
	if err != nil {
		return errors.Join(err, d.close())
	}
	tar := filepath.Join(d.h.Dir, "docker.tar")
	if _, err := output(d.h.env(), "tar", "--create", "--file", tar, "--directory", root, "."); err != nil {
		return errors.Join(err, d.close())
	}
	if _, err := output(d.h.env(), d.command("import", tar, d.image)...); err != nil {
		return errors.Join(err, d.close())
	}
	return os.Remove(tar)
}

// apart has a program run in a mount namespace of its own, where what it writes to /run and /etc is written elsewhere. Its
// first argument is a directory for that.
const apart = `mkdir "$1/upper" "$1/work" && mount -t tmpfs run /run && mount -t overlay -o "lowerdir=/etc,upperdir=$1/upper,workdir=$1/work" etc /etc && shift && exec "$@"`

// startEngine starts an engine that has nothing but a socket: no bridge, no rules of a packet filter, no forwarding.
func (d *docker) startEngine(ctx context.Context, why error) error {
	dockerd, err := lookPath("dockerd")
	if err != nil {
		return fmt.Errorf("no engine runs (%w), and dockerd is not installed; Debian's package is docker.io", why)
	}
	if !d.h.Root {
		return errors.New("no engine runs that this user may use, and only root can start one")
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(d.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	in := func(name string) string { return filepath.Join(d.dir, name) }
	d.socket = "unix://" + in("s")
	d.engine = exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", apart, "sh", d.dir, dockerd, "--host", d.socket, "--data-root", in("data"), "--exec-root", in("exec"), "--pidfile", in("pid"),
		"--bridge", "none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false", "--userland-proxy=false",
		"--exec-opt", "native.cgroupdriver=cgroupfs", "--cgroup-parent", "/"+d.h.name(), "--config-file", in("none.json"), "--storage-driver", "overlay2")
	if err := os.WriteFile(in("none.json"), []byte("{}\n"), 0o600); err != nil {
		return err
	}
	d.engine.Env, d.engine.Stdout, d.engine.Stderr = d.h.env(), log, log
	// if this program is killed, the engine ends with the thread that has started it, and that with the program
	d.engine.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := d.engine.Start(); err != nil {
		d.engine = nil
		return err
	}
	d.ended = make(chan struct{})
	go func() {
		defer close(d.ended)
		_ = d.engine.Wait() // how it ended is in its log, and told by who misses it
	}()
	return d.await(ctx, in("log"))
}

// await waits until the engine answers.
func (d *docker) await(ctx context.Context, log string) error {
	for end := time.Now().Add(dockerPatience); ; pause() {
		_, err := output(d.h.env(), d.command("version", "--format", "{{.Server.Version}}")...)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.ended:
			return fmt.Errorf("dockerd cannot start here: %s", tail(log))
		default:
		}
		if time.Now().After(end) {
			return fmt.Errorf("dockerd does not answer within %v: %s", dockerPatience, tail(log))
		}
	}
}

func (d *docker) prepare(j Job) (*Ready, error) {
	profile, err := d.h.profile()
	if err != nil {
		return nil, err
	}
	c := &command{name: d.h.name(), env: d.h.env(), argv: func(id string) []string {
		return append(d.command(engineArgs(id, d.h.parent(), profile, d.h.tree, j)...), append([]string{"--user", "1000:1000", d.image}, j.Args...)...)
	}}
	c.after = func(id string) error {
		_, err := output(d.h.env(), d.command("rm", "--force", "--volumes", id)...)
		return err
	}
	return c.ready()
}

// close removes the image from an engine that was there, and ends our own.
func (d *docker) close() error {
	if d.socket == "" {
		return nil
	}
	if d.engine != nil {
		return d.stopEngine()
	}
	_, err := output(d.h.env(), d.command("image", "rm", "--force", d.image)...)
	return err
}

// stopEngine ends the engine and whatever it has started, and takes its mounts back.
func (d *docker) stopEngine() error {
	if d.engine == nil {
		return nil
	}
	if err := d.engine.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-d.ended:
	case <-time.After(dockerPatience):
		if err := d.engine.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		<-d.ended
	}
	d.engine = nil
	return errors.Join(settle(d.dir), unmount(d.dir))
}
