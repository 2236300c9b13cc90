package main

import (
	"fmt"
	"io"
	"strings"
)

func manHelp(w io.Writer) {
	fmt.Fprintln(w, `usage: cpor man

Prints the manual page, made from the help of all commands. To read or install it:

  cpor man | man -l -
  cpor man > /usr/local/share/man/man1/cpor.1`)
}

// manCommand prints the manual page.
func manCommand(e *env, args []string) int {
	if len(args) > 0 {
		if args[0] == "-h" || args[0] == "-help" || args[0] == "--help" {
			return helpCommand(e, []string{"man"})
		}
		return e.mistake("man", "man takes no arguments")
	}
	w := e.stdout
	fmt.Fprintf(w, ".TH CPOR 1 \"\" \"cpor %s\" \"User Commands\"\n", roff(version()))
	fmt.Fprint(w, ".SH NAME\ncpor \\- explores every interleaving of a concurrent system that "+
		"matters\n.SH SYNOPSIS\n.B cpor\n.I COMMAND\n[flags] [arguments]\n")
	section := func(title, text string) {
		// The help is laid out for a terminal already.
		fmt.Fprintf(w, ".SH %s\n.nf\n%s.fi\n", title, roff(text))
	}
	var b strings.Builder
	overview(&b)
	section("DESCRIPTION", b.String())
	for _, c := range commands() {
		if c.name != "help" {
			section("CPOR "+strings.ToUpper(c.name), helpText(e, c))
		}
	}
	return exitPass
}

// roff writes text so that troff shows it as it is.
func roff(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, l := range lines {
		l = strings.NewReplacer(`\`, `\e`, `-`, `\-`, "`", "\\(ga", `'`, `\(aq`, `^`, `\(ha`, `~`,
			`\(ti`).Replace(l)
		if strings.HasPrefix(l, ".") {
			l = `\&` + l
		}
		lines[i] = l
	}
	return strings.Join(lines, "")
}
