package netns

import (
	"encoding/binary"
	"fmt"

	"brig/internal/program"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Constants that x/sys lacks, of linux/netfilter.h and linux/netfilter/nf_tables.h.
const (
	nfProtoIPv4, nfProtoIPv6 = 2, 10
	nfInetLocalOut           = 3
	nfPriorityDNAT           = -100
	batchBegin, batchEnd     = 0x10, 0x11 // NFNL_MSG_BATCH_*
	reg1                     = 1          // NFT_REG_1
	metaL4Proto              = 16         // NFT_META_L4PROTO
	cmpEq, cmpNeq            = 0, 1
	baseNetwork, baseTransp  = 1, 2 // NFT_PAYLOAD_*_HEADER
)

// redirect adds an nftables rule to the namespace that redirects each new TCP connection to the catch-all listener,
// except those to the jail's own addresses and to port 53: nft(8) redirect. The host's rules are in another namespace.
func redirect(p *program.Program, ipv6 bool) {
	list := []message{batch(batchBegin, "begin")}
	list = append(list, table(nfProtoIPv4, loopback4, own4)...)
	if ipv6 {
		list = append(list, table(nfProtoIPv6, loopback6, own6)...)
	}
	exchange(p, unix.NETLINK_NETFILTER, "NETLINK_NETFILTER", append(list, batch(batchEnd, "commit")))
}

// match describes bytes of the network header of connections that stay in the jail.
type match struct {
	offset int
	bytes  []byte
}

var (
	loopback4 = match{16, []byte{127}}
	own4      = match{16, jailAddr4.AsSlice()}
	loopback6 = match{24, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}}
	own6      = match{24, jailAddr6.AsSlice()}
)

// table returns the messages for a table of one family with one chain and one rule.
func table(family uint8, not ...match) []message {
	name := word(unix.NFTA_TABLE_NAME, "brig")
	priority := int32(nfPriorityDNAT)
	hook := nest(unix.NFTA_CHAIN_HOOK, number(unix.NFTA_HOOK_HOOKNUM, nfInetLocalOut),
		number(unix.NFTA_HOOK_PRIORITY, uint32(priority)))
	rule := []*nl.RtAttr{
		expression("meta", number(unix.NFTA_META_DREG, reg1), number(unix.NFTA_META_KEY, metaL4Proto)),
		compare(cmpEq, []byte{unix.IPPROTO_TCP})}
	for _, m := range not {
		rule = append(rule, load(baseNetwork, m.offset, len(m.bytes)), compare(cmpNeq, m.bytes))
	}
	rule = append(rule, load(baseTransp, 2, 2), compare(cmpNeq, []byte{0, 53}),
		expression("immediate", number(unix.NFTA_IMMEDIATE_DREG, reg1),
			value(unix.NFTA_IMMEDIATE_DATA, binary.BigEndian.AppendUint16(nil, catchAllPort))),
		expression("redir", number(unix.NFTA_REDIR_REG_PROTO_MIN, reg1)))
	ip := "ip"
	if family == nfProtoIPv6 {
		ip = "ip6"
	}
	text := fmt.Sprintf("add rule %s brig out meta l4proto tcp %s daddr not the jail's own tcp dport != 53 "+
		"redirect to :%d", ip, ip, catchAllPort)
	return []message{
		nftMessage(unix.NFT_MSG_NEWTABLE, family, "add table "+ip+" brig", name),
		nftMessage(unix.NFT_MSG_NEWCHAIN, family, "add chain "+ip+" brig out {type nat hook output priority dstnat;}",
			word(unix.NFTA_CHAIN_TABLE, "brig"), word(unix.NFTA_CHAIN_NAME, "out"), hook,
			word(unix.NFTA_CHAIN_TYPE, "nat")),
		nftMessage(unix.NFT_MSG_NEWRULE, family, text,
			word(unix.NFTA_RULE_TABLE, "brig"), word(unix.NFTA_RULE_CHAIN, "out"),
			nest(unix.NFTA_RULE_EXPRESSIONS, rule...)),
	}
}

// nftMessage returns a request that asks for an answer. If the kernel refuses a batch, an answer is missing.
func nftMessage(kind int, family uint8, text string, attrs ...*nl.RtAttr) message {
	parts := []nl.NetlinkRequestData{&nl.Nfgenmsg{NfgenFamily: family}}
	for _, a := range attrs {
		parts = append(parts, a)
	}
	return newMessage(unix.NFNL_SUBSYS_NFTABLES<<8|kind, unix.NLM_F_CREATE|unix.NLM_F_APPEND, text, true, parts...)
}

// batch returns the request that begins or commits a batch. Its resource number is in network order.
func batch(kind int, text string) message {
	ne := binary.NativeEndian
	subsystem := &nl.Nfgenmsg{NfgenFamily: unix.AF_UNSPEC, ResId: ne.Uint16([]byte{0, unix.NFNL_SUBSYS_NFTABLES})}
	return newMessage(kind, 0, text, false, subsystem)
}

// expression returns an expression of a rule.
func expression(name string, data ...*nl.RtAttr) *nl.RtAttr {
	return nest(unix.NFTA_LIST_ELEM, word(unix.NFTA_EXPR_NAME, name), nest(unix.NFTA_EXPR_DATA, data...))
}

// load reads bytes of a header into the register. compare ends the rule unless they are equal, or with cmpNeq unless
// they differ.
func load(base uint32, offset, n int) *nl.RtAttr {
	return expression("payload", number(unix.NFTA_PAYLOAD_DREG, reg1), number(unix.NFTA_PAYLOAD_BASE, base),
		number(unix.NFTA_PAYLOAD_OFFSET, uint32(offset)), number(unix.NFTA_PAYLOAD_LEN, uint32(n)))
}

func compare(op uint32, bytes []byte) *nl.RtAttr {
	return expression("cmp", number(unix.NFTA_CMP_SREG, reg1), number(unix.NFTA_CMP_OP, op),
		value(unix.NFTA_CMP_DATA, bytes))
}

func number(kind int, v uint32) *nl.RtAttr { return nl.NewRtAttr(kind, nl.BEUint32Attr(v)) }

func word(kind int, s string) *nl.RtAttr { return nl.NewRtAttr(kind, nl.ZeroTerminated(s)) }

func value(kind int, b []byte) *nl.RtAttr { return nest(kind, nl.NewRtAttr(unix.NFTA_DATA_VALUE, b)) }

func nest(kind int, children ...*nl.RtAttr) *nl.RtAttr {
	a := nl.NewRtAttr(kind|unix.NLA_F_NESTED, nil)
	for _, c := range children {
		a.AddChild(c)
	}
	return a
}
