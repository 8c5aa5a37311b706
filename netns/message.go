package netns

import (
	"encoding/binary"
	"strings"

	"brig/internal/program"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// message is one netlink(7) request, and its text in a printed plan.
type message struct {
	bytes []byte
	text  string
	acked bool
}

// newMessage returns a request. Its sequence number has no meaning: answers come in the order of the requests.
func newMessage(kind, flags int, text string, acked bool, parts ...nl.NetlinkRequestData) message {
	req := nl.NewNetlinkRequest(kind, flags)
	req.Seq = 1 // constant, since a plan must be reproducible and the library counts up
	if acked {
		req.Flags |= unix.NLM_F_ACK
	}
	for _, p := range parts {
		req.AddData(p)
	}
	return message{req.Serialize(), text, acked}
}

// goodAnswers accepts answers whose struct nlmsgerr has error 0: netlink(7).
var goodAnswers = []unix.SockFilter{
	{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: unix.SizeofNlMsghdr},
	{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: 0, Jt: 0, Jf: 1},
	{Code: unix.BPF_RET | unix.BPF_K, K: ^uint32(0)},
	{Code: unix.BPF_RET | unix.BPF_K, K: 0},
}

// exchange sends requests and fails unless each one that asks for an answer gets a good one. The launcher cannot parse
// an answer, so a filter on the socket accepts only those without an error (struct nlmsgerr, netlink(7)). The kernel
// answers before sendto(2) returns; if a good answer is missing, recvfrom(2) fails with EAGAIN.
func exchange(p *program.Program, protocol int, name string, list []message) {
	s := p.Open("net", unix.SYS_SOCKET, program.Named(unix.AF_NETLINK, "AF_NETLINK"),
		program.Named(unix.SOCK_RAW|unix.SOCK_CLOEXEC, "SOCK_RAW|SOCK_CLOEXEC"), program.Named(protocol, name))
	attach(p, s, "{an error of 0}", goodAnswers)
	var all []byte
	var texts []string
	for _, m := range list {
		all, texts = append(all, m.bytes...), append(texts, m.text)
	}
	p.Add("net", unix.SYS_SENDTO, s.Arg(), program.Struct(all, program.Text("{"+strings.Join(texts, ", ")+"}")),
		program.Int(len(all)), program.Int(0), program.Named(0, "NULL"), program.Int(0))
	for _, m := range list {
		if !m.acked {
			continue
		}
		p.Add("net", unix.SYS_RECVFROM, s.Arg(),
			program.Struct(make([]byte, 128), program.Text("[a good answer]")), program.Int(128),
			program.Named(unix.MSG_DONTWAIT, "MSG_DONTWAIT"), program.Named(0, "NULL"), program.Named(0, "NULL"))
	}
	p.Close("net", s)
}

// attach attaches a classic BPF filter to a socket: socket(7) SO_ATTACH_FILTER.
func attach(p *program.Program, s program.Slot, text string, filter []unix.SockFilter) {
	ne := binary.NativeEndian
	prog := make([]byte, 16) // struct sock_fprog
	ne.PutUint16(prog, uint16(len(filter)))
	var code []byte
	for _, f := range filter {
		code = append(ne.AppendUint16(code, f.Code), f.Jt, f.Jf)
		code = ne.AppendUint32(code, f.K)
	}
	p.Add("net", unix.SYS_SETSOCKOPT, s.Arg(), program.Named(unix.SOL_SOCKET, "SOL_SOCKET"),
		program.Named(unix.SO_ATTACH_FILTER, "SO_ATTACH_FILTER"),
		program.Struct(prog, program.Text(text)).WithPointer(8, code), program.Int(len(prog)))
}
