package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"cpor/bench"
	"cpor/cmd/cpor/command"
	"cpor/cmd/cpor/interrupt"
	"cpor/internal/mcpserver"
	"cpor/testkit/sample"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

var (
	update = flag.Bool("update", false, "rewrite the expected outputs")
)

// TestMain makes the test binary stand in for cpor when a test runs cpor, and for cpor-bench.
// Passes of earlier runs are not kept, unless a script says where.
func TestMain(m *testing.M) {
	if os.Getenv("CPORCACHE") == "" {
		os.Setenv("CPORCACHE", "off")
	}
	testscript.Main(m, map[string]func(){"cpor": main, "cpor-bench": func() {
		os.Exit(bench.Main(interrupt.Context, os.Args[1:], os.Stdout, os.Stderr))
	}, "cpor-mcp": func() {
		os.Exit(mcpserver.Main(interrupt.Context, os.Args[1:], os.Stdout, os.Stderr))
	}})
}

// inProcess runs a command line in this process.
func inProcess(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	code = command.Run(t.Context(), args, strings.NewReader(""), &out, &err)
	return out.String(), err.String(), code
}

// root is the root of the repository.
var root = filepath.Join("..", "..")

// TestScript runs the scripts, which have these commands besides the usual:
//
//	exits CODE PROGRAM ARGS...      run a program that exits with CODE
//	interrupt CODE FILE PROGRAM ARGS...
//	                                run a program, interrupt it when it has made
//	                                FILE, and expect CODE; its output goes to
//	                                the files out and err
//	result WANT                     compare the JSON on stdout with the file
//	                                WANT (see matchJSON)
//	result PATH VALUE               compare one value, such as .violations.0.kind
//	atmost PATH LIMIT               compare a number with a limit
//	fill FILE SIZE                  make a file of zero bytes
//	binary FILE                     make a file of all kinds of bytes
func TestScript(t *testing.T) {
	t.Parallel()
	benchmarks, err := filepath.Abs(filepath.Join(root, "benchmarks"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("BENCHMARKS", benchmarks)
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "long" {
				return sample.Long(), nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     cmdExits,
			"interrupt": cmdInterrupt,
			"result":    cmdResult,
			"fill":      cmdFill,
			"binary":    cmdBinary,
			"atmost":    cmdAtMost,
		},
	})
}

func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS...")
	}
	checkCode(ts, args[0], ts.Exec(args[1], args[2:]...))
}

func checkCode(ts *testscript.TestScript, want string, err error) {
	code := 0
	var ee *exec.ExitError
	switch {
	case errors.As(err, &ee):
		code = ee.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != want {
		ts.Fatalf("exit code %d, want %s", code, want)
	}
}

func cmdInterrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: interrupt CODE FILE PROGRAM ARGS...")
	}
	out, err := os.Create(ts.MkAbs("out"))
	ts.Check(err)
	defer out.Close()
	errFile, err := os.Create(ts.MkAbs("err"))
	ts.Check(err)
	defer errFile.Close()
	c := exec.Command(args[2], args[3:]...)
	c.Dir, c.Stdout, c.Stderr = ts.MkAbs("."), out, errFile
	ts.Check(c.Start())
	end := make(chan error, 1)
	go func() { end <- c.Wait() }()
	for waited := time.Duration(0); ; waited += 10 * time.Millisecond {
		if _, err := os.Stat(ts.MkAbs(args[1])); err == nil {
			break
		}
		select {
		case err := <-end:
			ts.Fatalf("the program ended before it could be interrupted: %v\n%s", err,
				ts.ReadFile("err"))
		case <-time.After(10 * time.Millisecond):
		}
		if waited > 30*time.Second {
			c.Process.Kill()
			ts.Fatalf("the program did not make %s", args[1])
		}
	}
	// The file is there just before the search begins.
	time.Sleep(500 * time.Millisecond)
	ts.Check(c.Process.Signal(os.Interrupt))
	select {
	case err := <-end:
		checkCode(ts, args[0], err)
	case <-time.After(30 * time.Second):
		c.Process.Kill()
		ts.Fatalf("the program did not end when it was interrupted")
	}
}

func cmdResult(ts *testscript.TestScript, neg bool, args []string) {
	var got any
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &got); err != nil {
		ts.Fatalf("stdout is not JSON: %v", err)
	}
	switch {
	case neg || len(args) < 1 || len(args) > 2:
		ts.Fatalf("usage: result WANT, or result PATH VALUE")
	case len(args) == 1:
		var want any
		if err := json.Unmarshal([]byte(ts.ReadFile(args[0])), &want); err != nil {
			ts.Fatalf("%s is not JSON: %v", args[0], err)
		}
		if d := cmp.Diff(want, matchJSON(want, got)); d != "" {
			ts.Fatalf("the result differs (- want, + got):\n%s", d)
		}
	default:
		v := lookUp(ts, got, args[0])
		text, err := json.Marshal(v)
		ts.Check(err)
		if string(text) != args[1] && v != args[1] && matchJSON(args[1], v) != args[1] {
			ts.Fatalf("%s is %s, want %s", args[0], text, args[1])
		}
	}
}

// lookUp returns the value at a path such as .violations.0.kind.
func lookUp(ts *testscript.TestScript, v any, path string) any {
	for _, key := range strings.Split(strings.TrimPrefix(path, "."), ".") {
		found := false
		switch x := v.(type) {
		case map[string]any:
			v, found = x[key]
		case []any:
			if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(x) {
				v, found = x[i], true
			}
		}
		if !found {
			ts.Fatalf("there is no %s in the result", path)
		}
	}
	return v
}

// cmdAtMost compares a number on stdout's JSON with a limit.
func cmdAtMost(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: atmost PATH LIMIT")
	}
	var got any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &got))
	limit, err := strconv.ParseFloat(args[1], 64)
	ts.Check(err)
	if n, ok := lookUp(ts, got, args[0]).(float64); !ok || n > limit {
		ts.Fatalf("%s is %v, want at most %s", args[0], lookUp(ts, got, args[0]), args[1])
	}
}

// cmdBinary makes a file with all the bytes.
func cmdBinary(ts *testscript.TestScript, neg bool, args []string) {
	var b []byte
	for i := range 4096 {
		b = append(b, byte(i*7))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o666))
}

// matchJSON returns got with what matches a placeholder of want replaced by the
// placeholder: "ANY" matches everything, "STRING" a string that is not empty,
// "NUMBER" a number that is not negative, "POSITIVE" one above 0.
func matchJSON(want, got any) any {
	switch w := want.(type) {
	case string:
		n, isNumber := got.(float64)
		s, isString := got.(string)
		switch {
		case w == "ANY", w == "STRING" && isString && s != "", w == "NUMBER" && isNumber && n >= 0,
			w == "POSITIVE" && isNumber && n > 0:
			return w
		}
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			m := map[string]any{}
			for k, v := range g {
				m[k] = matchJSON(w[k], v)
			}
			return m
		}
	case []any:
		if g, ok := got.([]any); ok {
			l := make([]any, len(g))
			for i, v := range g {
				l[i] = v
				if i < len(w) {
					l[i] = matchJSON(w[i], v)
				}
			}
			return l
		}
	}
	return got
}

func cmdFill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fill FILE SIZE")
	}
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(f.Truncate(n))
	ts.Check(f.Close())
}

// TestHelpIsComplete looks for every command in the help, and asks each for its own.
func TestHelpIsComplete(t *testing.T) {
	out, _, _ := inProcess(t, "help")
	for _, name := range command.Names() {
		if !strings.Contains(out, "\n  "+name+" ") {
			t.Errorf("the help does not show %s", name)
		}
		if _, _, code := inProcess(t, "help", name); code != command.ExitPass {
			t.Errorf("help %s: exit code %d", name, code)
		}
	}
}
