package command

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"cpor/internal/cliflag"
	"cpor/internal/layout"
)

func manHelp(w io.Writer) {
	fmt.Fprintln(w, `usage: cpor man

Prints the manual page in mdoc, made from the help of all commands. To read or install it:

  cpor man | man -l -
  cpor man > /usr/local/share/man/man1/cpor.1`)
}

// manCommand prints the manual page. It is made from the help texts, whose form is
//
//	text      = { paragraph } .
//	paragraph = { line } empty-line .                                 filled
//	          | "usage: " line { "       " line } empty-line .        a synopsis
//	          | heading ":" { "  -" flag [ " " value ] { line } } .   a list of flags
//	          | heading ":" { "  " name "  " line { line } } .        a list of other words
//	          | { ( tab | "  " ) line } .                             as it is: an example
//
// where the texts of lists continue in lines that begin with at least ten spaces.
func manCommand(e *env, args []string) int {
	if len(args) > 0 {
		if cliflag.IsHelp(args[0]) {
			manHelp(e.stdout)
			return ExitPass
		}
		return e.mistake("man", "man takes no arguments")
	}
	p := &manPage{w: e.stdout}
	p.macro("Dd", builtOn().Format("January 2, 2006"))
	p.macro("Dt", "CPOR 1")
	p.macro("Os", "")
	p.macro("Sh", "NAME")
	p.macro("Nm", "cpor")
	p.macro("Nd", "explores every interleaving of a concurrent system that matters")
	p.macro("Sh", "SYNOPSIS")
	p.macro("Nm", "")
	p.macro("Ar", "command")
	p.macro("Op", "Ar flags")
	p.macro("Op", "Ar arguments")
	p.macro("Sh", "DESCRIPTION")
	var b strings.Builder
	overview(&b)
	p.help(b.String())
	for _, c := range commands() {
		if c.name != "help" {
			p.macro("Sh", strings.ToUpper("cpor "+c.name))
			help := helpText(e, c)
			if help == "" { // a program of its own
				help = fmt.Sprintf("To %s. The program cpor-%s is not installed; \"cpor %[2]s\" "+
					"says how to install it.", c.summary, c.name)
			}
			p.help(help)
		}
	}
	return ExitPass
}

// builtOn returns the day that SOURCE_DATE_EPOCH says, by which packagers make the same files each
// time; else that of the revision that the program was built from, or today.
func builtOn() time.Time {
	if s, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		return time.Unix(s, 0).UTC()
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if t, err := time.Parse(time.RFC3339, s.Value); s.Key == "vcs.time" && err == nil {
				return t
			}
		}
	}
	return time.Now()
}

// manPage writes a page in mdoc.
type manPage struct{ w io.Writer }

func (p *manPage) macro(name, args string) {
	fmt.Fprintln(p.w, strings.TrimRight("."+name+" "+args, " "))
}

// text writes a paragraph, in lines short enough for editors, each sentence on one of its own: roff
// then knows where sentences end.
func (p *manPage) text(lines ...string) {
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	for sentence := range strings.SplitSeq(manSentence.ReplaceAllString(strings.Join(lines, " "),
		"$1\n"), "\n") {
		for l := range strings.SplitSeq(layout.Wrap(sentence, 20), "\n") {
			fmt.Fprintln(p.w, roff(strings.TrimSpace(l)))
		}
	}
}

var (
	manSentence = regexp.MustCompile(`([.!?]\)?"?) +`)

	manFlag = regexp.MustCompile(`^  -(\S+)(?: (\S.*?))?(?:  +(.*))?$`)
	manWord = regexp.MustCompile(`^  (\S+) {2,}(.*)$|^  (\S{10,}) (.*)$`)
)

// help writes the help of a command.
func (p *manPage) help(text string) {
	filled := false // what is above: an empty line is wanted behind it
	for block := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		lines := strings.Split(strings.Trim(block, "\n"), "\n")
		head := lines[0]
		if usage, ok := strings.CutPrefix(head, "usage: "); ok {
			lines[0] = usage
			p.literal(lines)
			filled = false
			continue
		}
		isList := func(l string) bool { return manFlag.MatchString(l) || manWord.MatchString(l) }
		isText := !strings.HasPrefix(head, "  ") && !strings.HasPrefix(head, "\t")
		if filled && isText {
			p.macro("Pp", "")
		}
		filled = isText
		if strings.HasSuffix(head, ":") && len(lines) > 1 && strings.HasPrefix(lines[1], "  ") {
			p.text(head)
			lines = lines[1:]
		}
		switch {
		case isList(lines[0]):
			p.list(lines)
		case strings.HasPrefix(lines[0], "  ") || strings.HasPrefix(lines[0], "\t"):
			p.literal(lines)
		default:
			p.text(lines...)
		}
	}
}

// literal writes lines as they are.
func (p *manPage) literal(lines []string) {
	p.macro("Bd", "-literal -offset indent")
	for _, l := range lines {
		fmt.Fprintln(p.w, roff(strings.TrimSpace(l)))
	}
	p.macro("Ed", "")
}

// list writes flags or other words with what they mean.
func (p *manPage) list(lines []string) {
	p.macro("Bl", "-tag -width Ds")
	var about []string
	item := func(args string) {
		if about != nil {
			p.text(about...)
			about = nil
		}
		if args != "" {
			p.macro("It", args)
		}
	}
	for _, l := range lines {
		if m := manFlag.FindStringSubmatch(l); m != nil {
			flag := "Fl " + roff(m[1])
			if m[2] != "" {
				flag += " Ar " + roff(m[2])
			}
			item(flag)
			l = m[3]
		} else if m := manWord.FindStringSubmatch(l); m != nil {
			item("Cm " + roff(m[1]+m[3]))
			l = m[2] + m[4]
		}
		if l != "" {
			about = append(about, l)
		}
	}
	item("")
	p.macro("El", "")
}

// roff writes text so that troff shows it as it is.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, `-`, `\-`, "`", `\(ga`, `'`, `\(aq`, `^`, `\(ha`, `~`,
		`\(ti`, `"`, `\(dq`).Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}
