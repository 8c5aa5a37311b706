package workspace

const maxAgent = 64 // bytes

// Any is every agent where a sandbox is looked for. It is not an agent's name.
const Any = "*"

// CheckAgent refuses what is no name for an agent: it has 1 to 64 ASCII letters, digits and . _ : @ -, and begins with
// a letter or digit. It appears in logs and in file names of others.
func CheckAgent(name string) error {
	if name == "" || len(name) > maxAgent {
		return refuse(CodeBadAgent, "The name of an agent has %d bytes, not 1 to %d", len(name), maxAgent)
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case i > 0 && (c == '.' || c == '_' || c == ':' || c == '@' || c == '-'):
		default:
			return refuse(CodeBadAgent, "The name of an agent has a byte that it may not have, at %d: %s", i, show(name))
		}
	}
	return nil
}
