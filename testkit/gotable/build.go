package gotable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Binary holds programs that were compiled by the real compiler, for one
// language version.
type Binary struct {
	dir   string
	path  string
	names map[string]int
}

var mainFunc = regexp.MustCompile(`(?m)^func main\(\)`)

// Build compiles main packages of one file each, by name, into one binary in dir. Each program
// becomes a package there, so its types are printed with that package's name; Run undoes that.
func Build(dir, goVersion string, programs map[string]string, flags ...string) (*Binary, error) {
	b := &Binary{dir: dir, path: filepath.Join(dir, "programs.exe"), names: map[string]int{}}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"),
		[]byte("module programs\n\ngo "+goVersion+"\n"), 0o666); err != nil {
		return nil, err
	}
	var head, table strings.Builder
	head.WriteString("package main\n\nimport (\n\t\"os\"\n")
	for name, src := range programs {
		n := len(b.names)
		b.names[name] = n
		pkg := fmt.Sprintf("prog%dx", n)
		if err := os.MkdirAll(filepath.Join(dir, pkg), 0o777); err != nil {
			return nil, err
		}
		src = strings.Replace(src, "package main\n", "package "+pkg+" // "+name+"\n", 1)
		src = mainFunc.ReplaceAllString(src, "func Main()")
		if err := os.WriteFile(filepath.Join(dir, pkg, "main.go"), []byte(src), 0o666); err != nil {
			return nil, err
		}
		fmt.Fprintf(&head, "\t%q\n", "programs/"+pkg)
		fmt.Fprintf(&table, "\t%q: %s.Main,\n", strconv.Itoa(n), pkg)
	}
	main := head.String() + ")\n\nvar mains = map[string]func(){\n" + table.String() +
		"}\n\nfunc main() { f := mains[os.Args[1]]; f() }\n"
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(main), 0o666); err != nil {
		return nil, err
	}
	args := append([]string{"build", "-o", b.path}, flags...)
	cmd := exec.Command("go", append(args, ".")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOTOOLCHAIN=local")
	if !slices.Contains(flags, "-race") {
		// With cgo, which package net would use, the run-time sees no deadlocks.
		cmd.Env = append(cmd.Env, "CGO_ENABLED=0")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return b, nil
}

var progPkg = regexp.MustCompile(`\b(programs/)?prog[0-9]+x\.`)

// Run executes a program and returns how it ended. One that runs longer than
// the limit is killed and called a livelock: the limit must be generous.
func (b *Binary) Run(name string, limit time.Duration) (Outcome, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.path, strconv.Itoa(b.names[name]))
	cmd.Env = append(os.Environ(), "GOTRACEBACK=single")
	var buf bytes.Buffer
	cmd.Stdout, cmd.Stderr = &buf, &buf
	err := cmd.Run()
	out := progPkg.ReplaceAllString(buf.String(), "main.")
	if ctx.Err() != nil {
		return NewOutcome(out, "livelock"), nil
	}
	var exit *exec.ExitError
	if err == nil {
		return NewOutcome(out, ""), nil
	} else if !errors.As(err, &exit) {
		return Outcome{}, err
	}
	if exit.ExitCode() == 2 {
		if text, ending, ok := failure(out); ok {
			return NewOutcome(text, ending), nil
		}
	}
	return NewOutcome(out, "exit "+strconv.Itoa(exit.ExitCode())), nil
}

// rowMark is before the name of a program in the output of a row.
const (
	rowMark  = "=== "
	rowPanic = "=!= panic:" // before what a program has panicked with
)

// Rows writes main packages that run some of the programs each, one after another,
// into folders of the directory that Build was given, and returns their patterns. They
// are for those who compile much with each main package.
func (b *Binary) Rows(each int) ([]string, error) {
	names := slices.SortedFunc(maps.Keys(b.names), func(x, y string) int {
		return b.names[x] - b.names[y]
	})
	var folders []string
	for row := range slices.Chunk(names, each) {
		var head, body strings.Builder
		for _, name := range row {
			fmt.Fprintf(&head, "import \"programs/prog%dx\"\n", b.names[name])
			fmt.Fprintf(&body, "\trun(%q, prog%dx.Main)\n", name, b.names[name])
		}
		src := "package main\n\n" + head.String() + "\nfunc run(name string, f func()) " +
			"{\n\tprintln(\"" + rowMark + "\" + name)\n" +
			"\tdefer func() {\n\t\tswitch r := recover().(type) {\n\t\tcase nil:\n\t\tcase " +
			"error:\n\t\t\tprintln(\"" + rowPanic + "\", r.Error())\n" +
			"\t\tcase string:\n\t\t\tprintln(\"" + rowPanic +
			"\", r)\n\t\tdefault:\n\t\t\tprintln(\"" + rowPanic +
			"\", r)\n\t\t}\n\t}()\n\tf()\n}\n\nfunc main() {\n" + body.String() + "}\n"
		folder := fmt.Sprintf("row%d", len(folders))
		if err := os.MkdirAll(filepath.Join(b.dir, folder), 0o777); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(b.dir, folder, "main.go"), []byte(src),
			0o666); err != nil {
			return nil, err
		}
		folders = append(folders, "./"+folder)
	}
	return folders, nil
}

// Split returns what each program of a row has printed, from the row's output as it appears in an
// [Outcome].
func (b *Binary) Split(output string) map[string]Outcome {
	parts := map[string]Outcome{}
	for part := range strings.SplitSeq(" / "+output, " / "+rowMark) {
		name, out, _ := strings.Cut(part, " / ")
		if _, ok := b.names[name]; ok {
			out, value, panics := strings.Cut(progPkg.ReplaceAllString(out, "main."), rowPanic)
			ending := ""
			if panics {
				ending = "panic:" + value // which begins with a blank, if it is not empty
			}
			parts[name] = NewOutcome(strings.ReplaceAll(out, " / ", "\n"), ending)
		}
	}
	return parts
}

// failure finds how the run-time reported the end of a program in its output.
func failure(out string) (text, ending string, ok bool) {
	head, _, ok := strings.Cut(out, "\n\ngoroutine ")
	if !ok {
		head = out // nobody is left who has a stack
	}
	for _, mark := range []string{"panic: ", "fatal error: "} {
		i := strings.LastIndex(head, mark)
		if i < 0 {
			continue
		}
		line, _, _ := strings.Cut(out[i+len(mark):], "\n")
		line, _, _ = strings.Cut(line, " [recovered")
		if rest, ok := strings.CutSuffix(line,
			"goroutine running on other thread; stack unavailable"); ok {
			line = rest
		}
		switch {
		case mark == "panic: ":
			text := out[:i]
			if strings.HasSuffix(text, "\t") { // behind those that it came upon
				text = text[:max(0, strings.LastIndex("\n"+text, "\n"+mark))]
			}
			return text, mark + line, true
		case strings.HasPrefix(line, "all goroutines are asleep"),
			strings.HasPrefix(line, "no goroutines (main called runtime.Goexit)"):
			return out[:i], "deadlock", true
		}
		return out[:i], "fatal: " + line, true
	}
	return "", "", false
}
