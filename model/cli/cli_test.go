package cli

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpor/cmd/cpor/command"
	"cpor/examples/models"
	"cpor/model"
)

func init() {
	for _, m := range models.All {
		Provide(m)
	}
}

func TestArguments(t *testing.T) {
	a, b := model.New("a", nil), model.New("b", nil)
	for _, test := range []struct {
		args, want string
		models     []*model.Model
	}{
		{"", "run a", []*model.Model{a}},
		{"-por none", "run -por none a", []*model.Model{a}},
		{"run a -q", "run a -q", []*model.Model{a}},
		{"explore", "explore a", []*model.Model{a}},
		{"help run", "help run", []*model.Model{a}},
		{"-h", "-h", []*model.Model{a}},
		{"run -h all", "run -h all", []*model.Model{a}},
		{"resume DIR", "resume DIR", []*model.Model{a}},
		{"run", "run", []*model.Model{a, b}},
		{"-q b", "run -q b", []*model.Model{a, b}},
	} {
		got := arguments(strings.Fields(test.args), test.models)
		if !slices.Equal(got, strings.Fields(test.want)) {
			t.Errorf("%s: %v, want %s", test.args, got, test.want)
		}
	}
}

// TestCommand runs commands on models.
func TestCommand(t *testing.T) {
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept")
	for _, test := range []struct {
		args string
		code int
		want string // in the output
	}{
		{"run -por none -workers 3 twophasecommit", command.ExitPass, "states       128 "},
		{"run -por cartesian -validate twophasecommit", command.ExitPass, "states       51 "},
		{"run -D BUG=true twophasecommit", command.ExitViolation,
			"twophasecommit.go:72:1: invariant disagreement does not hold\n" +
				"\t\tb.Never(\"disagreement\", func() bool {\n"},
		{"run -coverage - -por none twophasecommit", command.ExitPass, "\tb.Processes("},
		{"run -search unfolding twophasecommit", command.ExitPass, "events       76,"},
		{"run -search stateless twophasecommit", command.ExitPass, "no violation"},
		{"run -por none -max-states 40 -checkpoint " + kept + " twophasecommit",
			command.ExitIncomplete, "resume with"},
		{"resume " + kept, command.ExitPass, "states       128 "},
		{"check twophasecommit", command.ExitPass, ""},
		{"run -D N=many twophasecommit", command.ExitMistake, "the constant N is an integer"},
		{"run -D M=1 twophasecommit", command.ExitMistake, "it has BUG, CRASHES, N"},
		{"run -f true twophasecommit", command.ExitMistake, "-f is an option for files in"},
		{"run -ltl all twophasecommit", command.ExitMistake, "no ltl property"},
	} {
		var out, errs bytes.Buffer
		code := command.Run(t.Context(), strings.Fields(test.args), strings.NewReader(""), &out,
			&errs)
		if got := out.String() + errs.String(); code != test.code || !strings.Contains(got,
			test.want) {
			t.Errorf("%s: exit code %d\n%s\nwant %d, %s", test.args, code, got, test.code,
				test.want)
		}
	}
}

// TestProgram holds that messages name the program that users call.
func TestProgram(t *testing.T) {
	defer func(old string) { command.Program = old }(command.Program)
	command.Program = program("./twophase")
	kept := filepath.Join(t.TempDir(), "kept")
	for _, test := range []struct{ args, want string }{
		{"run -por none -max-states 40 -checkpoint " + kept + " twophasecommit",
			"resume with  ./twophase resume " + kept + "\n"},
		{"run -nosuch", "./twophase run: "},
		{"run -nosuch", "(see \"./twophase help run\")"},
		{"help run", "usage: ./twophase run "},
		{"resume -h", "that \"./twophase run -checkpoint DIR\" has written"},
		{"run -q peterson", "(./twophase run -ltl all peterson)"},
	} {
		var out bytes.Buffer
		command.Run(t.Context(), strings.Fields(test.args), strings.NewReader(""), &out, &out)
		if !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: %s\nwant %s", test.args, &out, test.want)
		}
	}
	if p := program("/tmp/go-build1/b001/exe/cmd"); !strings.HasPrefix(p, "go run ") {
		t.Error(p)
	}
}

// TestExplore opens the page of a model.
func TestExplore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, w := io.Pipe()
	code := make(chan int)
	go func() {
		c := command.Run(ctx, []string{"explore", "-no-browser", "twophasecommit"},
			strings.NewReader(""), w, io.Discard)
		w.Close()
		code <- c
	}()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil || !strings.Contains(line, "http://127.0.0.1:") {
		t.Fatal(line, err)
	}
	cancel()
	go io.Copy(io.Discard, r)
	if c := <-code; c != command.ExitPass {
		t.Errorf("exit code %d", c)
	}
}
