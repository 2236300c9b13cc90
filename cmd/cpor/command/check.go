package command

import (
	"cpor/frontend"
	"cpor/internal/cliflag"
	"cpor/internal/layout"
	"errors"
	"flag"
	"fmt"
	"io"
)

// checkConfig is what the flags of `cpor check` say.
type checkConfig struct {
	params map[string]string
	own    map[string]string // the flags of the front ends
	lang   string            // of the standard input
	quiet  bool
}

func (c *checkConfig) define() *cliflag.Set {
	f := cliflag.New("check")
	c.params = map[string]string{}
	defineParams(f, c.params)
	defineLanguage(f, &c.lang)
	f.BoolVar(&c.quiet, "q", false, "print nothing if there is no mistake")
	f.Group("Flags:", "D", "U", "lang", "q")
	c.own = map[string]string{}
	// of no use to check
	defineFrontEndFlags(f, c.own, "replay", "claim", "lossy", "empty-channels", "inner-escapes",
		"semantics")
	return f
}

func checkHelp(w io.Writer) {
	fmt.Fprintln(w, `usage: cpor check [flags] FILE.model

Reports all mistakes of a model that can be found without searching it.`)
	new(checkConfig).define().Describe(w)
	fmt.Fprintln(w, `
Exit codes: 0 no mistake, 2 a mistake.`)
}

// checkCommand is `cpor check`.
func checkCommand(e *env, args []string) int {
	var c checkConfig
	f := c.define()
	files, err := f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		checkHelp(e.stdout)
		return ExitPass
	}
	var file string
	if err == nil {
		file, err = oneFile(files)
	}
	if err == nil {
		file, err = inLanguage(file, c.lang)
	}
	if err != nil {
		return e.mistake("check", "%v (see \"cpor help check\")", err)
	}
	m, err := e.load(&file, frontend.Options{Params: c.params, Flags: c.own})
	if err != nil {
		return e.modelError(err)
	}
	if !c.quiet {
		fmt.Fprintf(e.stdout, "%s: no mistakes found\n", file)
		if ps := paramList(m.Params); ps != "" {
			fmt.Fprintf(e.stdout, "  %s\n", layout.Wrap("constants that -D can change: "+ps, 2))
		}
	}
	return ExitPass
}
