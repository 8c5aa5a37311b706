// Package rig is an internet for tests and brigd verify, offline: two network namespaces joined by a veth(4) pair. In
// H, the pretended host, the caller and its programs run. In W, the pretended internet, servers answer at public,
// private and metadata addresses and record their visitors. A capture at H's end sees every packet that leaves, and two
// snapshots show what has changed on a host.
//
// A test calls Enter first. Enter runs the test again in a process with new network and mount namespaces, as root or,
// in a user namespace, as an ordinary user. Nothing of the real host's network changes, and no packet leaves the
// machine.
package rig

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Addresses of the rig. Every other address of the pretended internet is in addresses4 and addresses6.
const (
	HostAddr   = "100.127.0.2"   // H's end of the cable
	hostPublic = "93.184.217.2"  // another address of H, which looks public
	hostAddr6  = "2600:127::2"   // H's side, IPv6
	WorldAddr  = "100.127.0.1"   // W's side; its DNS server is what H's resolv.conf names
	GoodAddr   = "93.184.216.34" // sites that policies allow
	evilAddr   = "93.184.216.35" // a site that no policy allows
	sharedAddr = "93.184.216.36" // one server for good and evil names
	GoodAddr6  = "2606:4700::34" // as GoodAddr
	evilAddr6  = "2606:4700::35" // as evilAddr
	worldAddr6 = "2600:127::1"   // W's side, IPv6
	hostMAC    = "02:00:00:00:00:01"
	worldMAC   = "02:00:00:00:00:02"
	resolvConf = "/etc/resolv.conf" // replaced in H's mount namespace only
)

// addresses4 and addresses6 belong to W: a packet to one has left the jail, whether or not a router would forward it.
var (
	addresses4 = []string{GoodAddr, evilAddr, sharedAddr, "8.8.8.8", "1.1.1.1", "169.254.169.254", "169.254.170.2",
		"10.0.0.1", "10.1.2.3",
		"172.16.0.1", "192.168.0.1", "100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.2.1", "198.51.100.1",
		"203.0.113.1", "198.18.0.1",
		"198.18.0.2", "198.19.255.254", "192.88.99.1", "192.0.0.192", "10.0.2.100", "240.0.0.1", "1.2.3.4"}
	addresses6 = []string{GoodAddr6, evilAddr6, "fd00::1", "fd00:ec2::254", "64:ff9b::a00:1", "64:ff9b::5db8:d823",
		"2002:a00:1::1", "2002:5db8:d823::1",
		"2001::1", "2001:db8::1", "fec0::1", "100::1"}
)

// Rig is H and W with everything in them.
type Rig struct {
	Dir     string // for files that brig may read
	IPv6    bool   // the machine has IPv6
	World   *Space // W
	Visits  *Visits
	DNS     *DNS
	CA      *CA
	Capture *Capture
	sites   *http.ServeMux
	late    []string // packets that the last attack may have sent
}

// New makes the rig in the namespaces of Enter. H's programs must be able to read dir.
func New(dir string) (*Rig, error) {
	world, err := newSpace()
	if err != nil {
		return nil, err
	}
	ca, err := newCA()
	if err != nil {
		return nil, err
	}
	off, err := os.ReadFile("/proc/sys/net/ipv6/conf/lo/disable_ipv6")
	r := &Rig{Dir: dir, IPv6: err == nil && string(off) == "0\n", World: world, Visits: &Visits{}, CA: ca,
		sites: pages()}
	r.DNS = newDNS(r.Visits)
	if err := os.WriteFile(r.caFile(), ca.PEM(), 0o644); err != nil {
		return nil, err
	}
	for _, step := range []func() error{r.cable, r.resolver, r.serveWorld, r.serveHost, r.acquaint} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if r.Capture, err = newCapture("h0"); err != nil {
		return nil, err
	}
	return r, nil
}

// caFile returns the path of the certificate of the authority that signs for every site of W, in PEM.
func (r *Rig) caFile() string { return filepath.Join(r.Dir, "ca.pem") }

// addresses returns the addresses of W.
func (r *Rig) addresses() []string {
	if r.IPv6 {
		return slices.Concat(addresses4, addresses6)
	}
	return addresses4
}

// cable joins H and W and sets the addresses and routes of both.
func (r *Rig) cable() error {
	world := []string{"link set lo up", "addr add " + WorldAddr + "/24 dev w0", "link set w0 up",
		"route add " + hostPublic + "/32 dev w0"}
	host := []string{"addr add " + HostAddr + "/24 dev h0", "addr add " + hostPublic + "/32 dev h0", "link set h0 up",
		"route add default via " + WorldAddr}
	for _, a := range addresses4 {
		world = append(world, "addr add "+a+"/32 dev lo")
	}
	neighbours, worlds := []string{HostAddr, hostPublic}, []string{WorldAddr}
	if r.IPv6 {
		neighbours, worlds = append(neighbours, hostAddr6), append(worlds, worldAddr6)
		// no link-local addresses: they would appear during a test, after duplicate address detection
		world = slices.Insert(world, 0, "link set w0 addrgenmode none")
		host = slices.Insert(host, 0, "link set h0 addrgenmode none")
		world = append(world, "addr add "+worldAddr6+"/64 dev w0 nodad")
		host = append(host, "addr add "+hostAddr6+"/64 dev h0 nodad", "route add ::/0 via "+worldAddr6)
		for _, a := range addresses6 {
			world = append(world, "addr add "+a+"/128 dev lo nodad")
		}
	}
	// permanent neighbours: on a busy machine a neighbour request may time out, and is not repeated for a while
	for _, a := range neighbours {
		world = append(world, "neigh replace "+a+" lladdr "+hostMAC+" dev w0 nud permanent")
	}
	for _, a := range worlds {
		host = append(host, "neigh replace "+a+" lladdr "+worldMAC+" dev h0 nud permanent")
	}
	err := ip("link set lo up",
		"link add h0 address "+hostMAC+" type veth peer name w0 address "+worldMAC+" netns "+r.World.path)
	if err == nil {
		err = r.World.do(func() error { return ip(world...) })
	}
	if err == nil {
		err = ip(host...)
	}
	if err != nil || !r.IPv6 {
		return err
	}
	return settled()
}

// settled waits for the route that the kernel adds for an IPv6 address, so that every snapshot has it.
func settled() error {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		out, err := exec.Command("ip", "-6", "route", "show", "table", "local").Output()
		if err != nil || strings.Contains(string(out), hostAddr6) {
			return err
		}
	}
	return fmt.Errorf("the kernel has made no route for %s", hostAddr6)
}

// acquaint exchanges a first datagram with W, which takes time on a busy machine.
func (r *Rig) acquaint() error {
	addresses := []string{GoodAddr}
	if r.IPv6 {
		addresses = append(addresses, GoodAddr6)
	}
	for _, a := range addresses { // UDP sends nothing afterwards
		c, err := net.Dial("udp", net.JoinHostPort(a, udpPorts[0]))
		if err != nil {
			return err
		}
		defer c.Close()
		for tries := 30; ; tries-- {
			derr := c.SetDeadline(time.Now().Add(time.Second))
			_, werr := c.Write([]byte("who"))
			_, rerr := c.Read(make([]byte, 1))
			err := errors.Join(derr, werr, rerr)
			if err == nil {
				break
			}
			if tries == 0 {
				return fmt.Errorf("nobody answers in W: %w", err)
			}
		}
	}
	r.Visits.Take()
	return nil
}

// ip runs ip(8) with commands, in the network namespace of the calling thread.
func ip(commands ...string) error {
	cmd := exec.Command("ip", "-batch", "-")
	cmd.Stdin = strings.NewReader(strings.Join(commands, "\n"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ip: %w: %s", err, out)
	}
	return nil
}

// resolver makes H's programs use W's DNS server.
func (r *Rig) resolver() error {
	real, err := filepath.EvalSymlinks(resolvConf)
	if err != nil {
		return fmt.Errorf("there is no %s to replace: %w", resolvConf, err)
	}
	own := filepath.Join(r.Dir, "resolv.conf")
	text := "nameserver " + WorldAddr + "\noptions timeout:2 attempts:1\n"
	return errors.Join(os.WriteFile(own, []byte(text), 0o644), unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount(own, real, "", unix.MS_BIND, ""))
}
