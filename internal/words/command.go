package words

// OtherName returns the name under which a distribution installs a program that it does not install under its usual
// name: python3 for python. It returns "" for other names.
func OtherName(name string) string {
	return map[string]string{"python": "python3", "pip": "pip3", "node": "nodejs"}[name]
}
