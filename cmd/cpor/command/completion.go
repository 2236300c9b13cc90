package command

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"cpor/engine"
	"cpor/internal/cliflag"
	"cpor/internal/spell"
)

// shells are the scripts by which a shell asks this binary what could come next, so
// that they are never behind it. Each asks with the words after cpor up to the one that
// is typed, and takes files where there is no answer.
var shells = []struct{ name, script string }{
	{"bash", `# To load it: source <(cpor completion bash)
_cpor() {
	local words=("${COMP_WORDS[@]:1:COMP_CWORD}") word
	COMPREPLY=()
	while IFS= read -r word; do
		COMPREPLY+=("$word")
	done < <("${COMP_WORDS[0]}" completion words "${words[@]}" 2>/dev/null)
}
complete -o default -F _cpor cpor
`},
	{"zsh", `#compdef cpor
# To load it: source <(cpor completion zsh), after compinit
_cpor() {
	local -a answers
	answers=("${(@f)$("${words[1]}" completion words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	answers=("${(@)answers:#}")
	if (( ${#answers} )); then
		compadd -- "${answers[@]}"
	else
		_files
	fi
}
compdef _cpor cpor
`},
	{"fish", `# To load it: cpor completion fish | source
function __cpor_words
	set -l words (commandline -opc) (commandline -ct)
	set -l answers ($words[1] completion words $words[2..-1] 2>/dev/null)
	if test (count $answers) -gt 0
		printf '%s\n' $answers
	else
		__fish_complete_path (commandline -ct)
	end
end
complete -c cpor -f -a '(__cpor_words)'
`},
}

func shellNames() []string {
	var names []string
	for _, s := range shells {
		names = append(names, s.name)
	}
	return names
}

func completionHelp(w io.Writer) {
	fmt.Fprintln(w, `usage: cpor completion bash|zsh|fish

Prints a script that makes the shell complete commands, flags, and the names of
reductions, searches, stores and tables, and file names elsewhere. To load it:

  source <(cpor completion bash)      in ~/.bashrc
  source <(cpor completion zsh)       in ~/.zshrc, after compinit
  cpor completion fish | source       in ~/.config/fish/config.fish

The scripts call "cpor completion words WORD...", which prints the completions of the
last word after cpor, one per line.`)
}

func completionCommand(e *env, args []string) int {
	switch {
	case len(args) > 0 && cliflag.IsHelp(args[0]):
		completionHelp(e.stdout)
		return ExitPass
	case len(args) > 0 && args[0] == "words":
		for _, w := range completions(e, args[1:]) {
			fmt.Fprintln(e.stdout, w)
		}
		return ExitPass
	case len(args) != 1:
		return e.mistake("completion", "completion takes the name of a shell: %s",
			strings.Join(shellNames(), ", "))
	}
	for _, s := range shells {
		if s.name == args[0] {
			fmt.Fprint(e.stdout, s.script)
			return ExitPass
		}
	}
	return e.mistake("completion", "there is no script for %q; want %s%s", args[0],
		strings.Join(shellNames(), ", "), spell.DidYouMean(args[0], shellNames(), ""))
}

// completions returns what the last word could become; nothing where a file stands.
func completions(e *env, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	begin := func(all []string, prefix string) []string {
		var found []string
		for _, w := range all {
			if strings.HasPrefix(w, last[len(prefix):]) {
				found = append(found, prefix+w)
			}
		}
		return found
	}
	if len(words) == 1 {
		return begin(Names(), "")
	}
	c := lookup(words[0])
	if c == nil {
		return nil
	}
	if flag, _, ok := strings.Cut(last, "="); ok && strings.HasPrefix(flag, "-") {
		return begin(flagValues(strings.TrimLeft(flag, "-")), flag+"=")
	}
	// A shell for which = separates words leaves it as a word of its own.
	before := words[len(words)-2]
	if before == "=" && len(words) > 2 {
		before = words[len(words)-3]
	}
	if strings.HasPrefix(before, "-") && !strings.Contains(before, "=") {
		if values := flagValues(strings.TrimLeft(before, "-")); values != nil {
			return begin(values, "")
		}
	}
	if strings.HasPrefix(last, "--") {
		return begin(flagNames(e, c), "--")
	}
	if strings.HasPrefix(last, "-") {
		return begin(flagNames(e, c), "-")
	}
	switch c.name {
	case "help":
		return begin(Names(), "")
	case "completion":
		return begin(shellNames(), "")
	case "bench":
		return begin(listed(e, c, tableLine), "")
	}
	return nil
}

// flagValues returns the words that a flag's value can be; nil for none that are known.
func flagValues(name string) []string {
	switch name {
	case "por":
		return engine.Names("")
	case "search":
		var names []string
		for _, m := range engine.Modes() {
			if m.Summary != "" {
				names = append(names, m.Name)
			}
		}
		return names
	}
	for _, e := range engine.Entries("") {
		for _, f := range e.Flags {
			if a := f.About(); a.Name == name && !a.Bool {
				return a.Values
			}
		}
	}
	return nil
}

var (
	flagLine  = regexp.MustCompile(`(?m)^  -([A-Za-z][A-Za-z0-9-]*)`)
	tableLine = regexp.MustCompile(`(?m)^  ([a-z][a-z0-9]+) {2,}`)
)

// flagNames returns a command's flags, as its help has them.
func flagNames(e *env, c *command) []string { return listed(e, c, flagLine) }

// listed returns what is at the beginning of lines of a command's help.
func listed(e *env, c *command, line *regexp.Regexp) []string {
	var found []string
	for _, m := range line.FindAllStringSubmatch(helpText(e, c), -1) {
		if !slices.Contains(found, m[1]) {
			found = append(found, m[1])
		}
	}
	return found
}

// helpText returns the whole help of a command.
func helpText(e *env, c *command) string {
	var b bytes.Buffer
	c.run(&env{ctx: e.ctx, stdin: strings.NewReader(""), stdout: &b, stderr: io.Discard},
		[]string{"-h", "all"})
	return b.String()
}
