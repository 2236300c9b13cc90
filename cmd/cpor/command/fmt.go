package command

import (
	"cpor/frontend"
	"cpor/frontend/source"
	"cpor/internal/cliflag"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"
)

// fmtConfig is what the flags of `cpor fmt` say.
type fmtConfig struct {
	write, list, diff bool
}

func (c *fmtConfig) define() *cliflag.Set {
	f := cliflag.New("fmt")
	f.BoolVar(&c.write, "w", false,
		"rewrite files that are not formatted, instead of printing them")
	f.BoolVar(&c.list, "l", false, "print the names of files that are not formatted; exit code 1 "+
		"if there are any")
	f.BoolVar(&c.diff, "d", false, "print a diff of what would change; exit code 1 if there is any")
	f.Group("Flags:", "w", "l", "d")
	return f
}

func fmtHelp(w io.Writer) {
	fmt.Fprintln(w, `usage: cpor fmt [flags] [FILE.model | DIRECTORY ...]

Formats models as gofmt does Go programs, and prints them. Without a file it
reads standard input. For a directory it formats all models in and below it,
except in directories named testdata or beginning with a dot.`)
	new(fmtConfig).define().Describe(w)
	fmt.Fprintln(w, `
Exit codes: 0 formatted; with -l or -d, 1 if a file is not formatted; 2 a mistake.`)
}

// fmtCommand is `cpor fmt`.
func fmtCommand(e *env, args []string) int {
	var c fmtConfig
	files, err := c.define().Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmtHelp(e.stdout)
		return ExitPass
	}
	if err == nil && c.write && (len(files) == 0 || len(files) == 1 && files[0] == "-") {
		err = errors.New("-w rewrites files and cannot be used with standard input")
	}
	if err != nil {
		return e.mistake("fmt", "%v (see \"cpor help fmt\")", err)
	}
	if len(files) == 0 {
		files = []string{"-"}
	}
	code := ExitPass
	one := func(name string) {
		changed, err := e.format(&c, name)
		switch {
		case err != nil:
			code = e.modelError(err)
		case changed && (c.list || c.diff) && code == ExitPass:
			code = ExitViolation
		}
	}
	for _, name := range files {
		if info, err := os.Stat(name); name == "-" || err != nil || !info.IsDir() {
			one(name)
			continue
		}
		err := formattable(name, one)
		if err != nil {
			code = e.modelError(err)
		}
	}
	return code
}

// formattable calls f with every file below a directory that can be formatted. Folders named
// testdata or with a leading dot are left out.
func formattable(dir string, f func(path string)) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && (d.Name()[0] == '.' || d.Name() == "testdata"):
			return fs.SkipDir
		case d.Type().IsRegular() && frontend.IsFormattable(path):
			f(path)
		}
		return nil
	})
}

// format does what the flags say with one file, and reports whether it is laid out otherwise.
func (e *env) format(c *fmtConfig, name string) (changed bool, err error) {
	var f *source.File
	if name == "-" {
		f, err = source.ReadFrom("<stdin>", e.stdin)
	} else {
		f, err = source.Read(name)
	}
	if err != nil {
		return false, err
	}
	text, err := frontend.Formatted(f)
	if err != nil {
		return false, err
	}
	changed = text != f.Text
	if !c.list && !c.diff && !c.write {
		_, err = io.WriteString(e.stdout, text)
	}
	if changed && c.list {
		fmt.Fprintln(e.stdout, f.Name)
	}
	if changed && c.diff {
		_, err = e.stdout.Write(diff.Diff(f.Name, []byte(f.Text), f.Name+" (formatted)",
			[]byte(text)))
	}
	if changed && c.write {
		err = overwrite(name, text)
	}
	return changed, err
}

// overwrite replaces the text of a file, and keeps who may read it.
func overwrite(name, text string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), info.Mode().Perm())
}
