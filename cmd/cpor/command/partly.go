//go:build models || gotests

package command

// installs says how to get what this program does not have.
const installs = "\"go install ./cmd/cpor\" in a clone of the repository builds everything"

// leftOut returns commands that are not in this program, because a tag keeps only a part of it.
func leftOut(names ...string) []*command {
	var out []*command
	for _, name := range names {
		out = append(out, &command{
			name: name, summary: "(not in this build)",
			run: func(e *env, args []string) int {
				return e.mistake(name, "this cpor was built with -tags %s, without this command; "+
					"%s", onlyTag, installs)
			},
		})
	}
	return out
}

// The commands that need a web server.
var (
	pages    = leftOut("explore", "view")
	recorded = leftOut("detect", "monitor", "conform")
)
