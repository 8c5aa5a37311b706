package seccomp

import (
	"os"
	"slices"
	"testing"

	"brig/internal/test/golden"
	"brig/internal/test/must"

	libseccomp "github.com/seccomp/libseccomp-golang"
)

// dockerBPF is the filter that brig-bench passes to bubblewrap.
const dockerBPF = "../cmd/brig-bench/internal/peers/docker_amd64.bpf"

// TestDockerBPF compares the verdicts of dockerBPF with those of Docker's profile; -update compiles it with libseccomp, as
// Docker does: linear, and for the three architectures of an x86-64 kernel.
func TestDockerBPF(t *testing.T) {
	p, target := load(t, "docker-default"), Target{Arch: "amd64", KernelMajor: 6, KernelMinor: 1}
	if golden.Update() {
		must.Do(t, os.WriteFile(dockerBPF, dockerFilter(t, p), 0o644))
	}
	bpf := must.Get(os.ReadFile(dockerBPF))(t)
	table := must.Get(p.Resolve(target))(t)
	a, _ := findArch(target.Arch)
	for nr := range int32(firstNewer) {
		for _, arg := range []uint64{0, 2, 38, 40, 1 << 28} {
			d := Data{Nr: nr, Arch: a.audit, Args: [6]uint64{arg}}
			if got, want := Simulate(bpf, d), table.Eval(d); got != want && nr != 335 { // uretprobe, which libseccomp 2.5 lacks
				t.Errorf("call %d with %d: %s, not %s", nr, arg, got, want)
			}
		}
	}
}

// dockerFilter hands the profile to libseccomp as Docker does for a container without capabilities.
func dockerFilter(t *testing.T, p *Profile) []byte {
	f := must.Get(libseccomp.NewFilter(libseccomp.ActErrno.SetReturnCode(int16(*p.DefaultErrnoRet))))(t)
	defer f.Release()
	for _, a := range []libseccomp.ScmpArch{libseccomp.ArchX86, libseccomp.ArchX32} {
		must.Do(t, f.AddArch(a))
	}
	for _, s := range p.Syscalls {
		ours := func(arch string) bool { return slices.Contains([]string{"amd64", "x86", "x32"}, arch) }
		in, out := s.Includes, s.Excludes
		if in != nil && (in.Caps != nil || in.Arches != nil && !slices.ContainsFunc(in.Arches, ours)) ||
			out != nil && slices.Contains(out.Arches, "amd64") {
			continue
		}
		action := libseccomp.ActAllow
		if s.Action != "SCMP_ACT_ALLOW" {
			action = libseccomp.ActErrno.SetReturnCode(int16(*s.ErrnoRet))
		}
		var conds []libseccomp.ScmpCondition
		for _, c := range s.Args {
			conds = append(conds, libseccomp.ScmpCondition{Argument: c.Index, Op: c.cond().Op.lib(), Operand1: c.Value, Operand2: c.ValueTwo})
		}
		for _, name := range s.Names {
			nr, err := libseccomp.GetSyscallFromName(name)
			if err != nil {
				continue // of another architecture, or newer than this libseccomp
			}
			if err := f.AddRuleConditional(nr, action, conds); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	return must.Get(export(f))(t)
}
