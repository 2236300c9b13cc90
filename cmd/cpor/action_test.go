package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cpor/internal/sarif"
)

// TestAction runs the step of action.yml as a runner would, with a cpor that stands in for the one
// that it compiles: it writes a given file and has a given exit code.
func TestAction(t *testing.T) {
	for _, tool := range []string{"bash", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	step, err := filepath.Abs(filepath.Join(root, ".ci", "action"))
	if err != nil {
		t.Fatal(err)
	}
	found := &sarif.Log{Done: true}
	found.Add(sarif.Finding{Rule: "panic", Message: "100% sure\nof it",
		At: sarif.Place{File: "sub/a b,c.go", Line: 3, Col: 5}})
	found.Add(sarif.Finding{Rule: "timing", Message: "slow", Warning: true})
	open := &sarif.Log{}
	open.Note("INCOMPLETE: TestX")
	for _, test := range []struct {
		name, dir, incomplete string
		log                   *sarif.Log
		code, exit            int
		want                  string
	}{
		{"pass", ".", "fail", &sarif.Log{Done: true}, 0, 0, ""},
		{"failures", ".", "fail", found, 1, 1, "::error title=cpor: panic,file=sub/a b%2Cc.go," +
			"line=3,col=5::100%25 sure%0Aof it\n::warning title=cpor: timing::slow\n"},
		{"below", "mod/", "fail", found, 1, 1, "file=mod/sub/a b%2Cc.go"},
		{"incomplete", ".", "fail", open, 3, 3, "::error title=cpor::INCOMPLETE: TestX\n"},
		{"warn", ".", "warn", open, 3, 0, "::warning title=cpor::INCOMPLETE: TestX\n"},
		{"mistake", ".", "warn", nil, 2, 2, ""},
		{"input", ".", "maybe", nil, 0, 2, "::error title=cpor::incomplete: want fail or warn"},
	} {
		t.Run(test.name, func(t *testing.T) {
			work, temp, bin := t.TempDir(), t.TempDir(), t.TempDir()
			if err := os.Mkdir(filepath.Join(work, "mod"), 0o777); err != nil {
				t.Fatal(err)
			}
			if test.log != nil {
				if err := test.log.WriteFile(filepath.Join(bin, "log")); err != nil {
					t.Fatal(err)
				}
			}
			script := "#!/bin/sh\ncase $1 in build) cp \"$0\" \"$7\";; env) ;; test)\n" +
				"echo \"$@\" > " + bin + "/args; cp " + bin + "/log \"$3\" 2>/dev/null; exit " +
				string(rune('0'+test.code)) + ";; esac\n"
			if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o777); err != nil {
				t.Fatal(err)
			}
			c := exec.Command("bash", step)
			c.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "PACKAGES=./a ./b",
				"FLAGS=-short", "DIRECTORY="+test.dir, "INCOMPLETE="+test.incomplete,
				"GITHUB_WORKSPACE="+work, "RUNNER_TEMP="+temp, "GITHUB_ACTION_PATH="+root,
				"GITHUB_OUTPUT="+filepath.Join(temp, "output"))
			out, err := c.CombinedOutput()
			if c.ProcessState == nil || c.ProcessState.ExitCode() != test.exit {
				t.Fatalf("%v, want exit code %d\n%s", err, test.exit, out)
			}
			if !strings.Contains(string(out), test.want) ||
				test.want == "" && strings.Contains(string(out), "title=") {
				t.Errorf("got %q, want %q", out, test.want)
			}
			if test.log != nil {
				args, _ := os.ReadFile(filepath.Join(bin, "args"))
				if !strings.HasSuffix(string(args), " -short ./a ./b\n") {
					t.Errorf("cpor got %q", args)
				}
			}
		})
	}
}
