package workspace

const maxAgent = 64 // bytes

// Any matches every agent when a sandbox is looked up. It is not a valid agent name.
const Any = "*"

// CheckAgent checks the name of an agent: 1 to 64 ASCII letters, digits and . _ : @ -, beginning with a letter or
// digit. Names appear in logs and in file names.
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
