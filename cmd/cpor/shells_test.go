package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cpor/cmd/cpor/command"
)

// tabs are lines, and what a shell makes of them when the tabulator is pressed.
var tabs = [][2]string{
	{"cpor res", "cpor resume"},
	{"cpor run -por cart", "cpor run -por cartesian"},
	{"cpor run -por=cart", "cpor run -por=cartesian"},
	{"cpor run --wor", "cpor run --workers"},
	{"cpor bench com", "cpor bench compare"},
	{"cpor help mo", "cpor help monitor"},
	{"cpor run only", "cpor run only.model"}, // a file
}

// zshTabs is a zsh that runs another one in a terminal of its own, in which it presses keys.
const zshTabs = `
zmodload zsh/zpty
zpty z TERM=vt100 zsh -f -i
zpty -w z "PS1='re''ady> '; autoload -U compinit; compinit -u -D; source complete.zsh"
zpty -w z 'tab() { zle complete-word; print -r -- "<<$BUFFER>>"; BUFFER= }; zle -N tab; bindkey "^I" tab'
zpty -r -m z out '*ready> *'
zpty -w z 'print be''gin'
zpty -r -m z out '*begin*ready> *'
for line in $argv; do
	zpty -w -n z "$line"$'\t'
	zpty -r -m z out '*<<*>>*'
	print -r -- "${${out##*<<}%%>>*}"
done
`

// TestShells presses the tabulator in zsh and in fish. In bash, completion.txtar asks the
// function, as readline would.
func TestShells(t *testing.T) {
	if testing.Short() {
		t.Skip("shells take seconds to start")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "only.model"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	shell := func(t *testing.T, name string, args ...string) string {
		c := exec.Command(name, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir,
			"XDG_CACHE_HOME="+dir)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		return string(out)
	}
	for _, name := range []string{"zsh", "fish"} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(name); err != nil {
				t.Skipf("THE COMPLETION IN %s IS NOT TRIED: it is not installed", name)
			}
			script, code := runCpor(t, dir, []string{"completion", name})
			if code != command.ExitPass {
				t.Fatal(script)
			}
			if err := os.WriteFile(filepath.Join(dir, "complete."+name), []byte(script),
				0o666); err != nil {
				t.Fatal(err)
			}
			var got []string
			if name == "zsh" {
				if err := os.WriteFile(filepath.Join(dir, "tabs.zsh"), []byte(zshTabs),
					0o666); err != nil {
					t.Fatal(err)
				}
				args := []string{"-f", "tabs.zsh"}
				for _, tab := range tabs {
					args = append(args, tab[0])
				}
				for line := range strings.Lines(shell(t, "zsh", args...)) {
					got = append(got, strings.TrimSpace(line))
				}
			} else {
				for _, tab := range tabs {
					// fish says what the last word becomes.
					words := strings.TrimSpace(shell(t, "fish", "--no-config", "-c",
						"source complete.fish; complete -C '"+tab[0]+"'"))
					got = append(got, tab[0][:strings.LastIndexByte(tab[0], ' ')+1]+words)
				}
			}
			for i, tab := range tabs {
				if i >= len(got) || got[i] != tab[1] {
					t.Errorf("%s: %q becomes %q, want %q", name, tab[0], got[min(i, len(got)-1):],
						tab[1])
				}
			}
		})
	}
}

// TestShellsManual: mandoc finds nothing wrong with the manual page, and shows every flag.
func TestShellsManual(t *testing.T) {
	file, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("THE FORM OF THE MANUAL PAGE IS NOT CHECKED: mandoc is not installed")
	}
	var page string
	mandoc := func(arg string) string {
		c := exec.Command(file, arg)
		c.Stdin = strings.NewReader(page)
		out, err := c.CombinedOutput()
		if err != nil && arg != "-Tlint" {
			t.Fatal(err)
		}
		return string(out)
	}
	check := func() {
		t.Helper()
		var b bytes.Buffer
		code := command.Run(t.Context(), []string{"man"}, strings.NewReader(""), &b, io.Discard)
		if page = b.String(); code != command.ExitPass {
			t.Fatal(page)
		}
		if found := mandoc("-Tlint"); found != "" {
			t.Error(found)
		}
	}
	check()
	shown, letter := mandoc("-Tascii"), regexp.MustCompile(`.`)
	command.RunFlags().VisitAll(func(f *flag.Flag) {
		// Bold letters are struck twice.
		bold := letter.ReplaceAllString("-"+f.Name, "$0\b$0")
		if !strings.Contains(shown, bold) {
			t.Errorf("the manual page does not show -%s", f.Name)
		}
	})
	t.Setenv("PATH", t.TempDir()) // without the other programs
	check()
	if !strings.Contains(strings.ReplaceAll(page, `\`, ""), "cpor-mcp is not installed") {
		t.Error("the manual page does not say that cpor-mcp is not installed")
	}
}
