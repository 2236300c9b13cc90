package detectcmd

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"path/filepath"
	"testing"

	"cpor/detect/experiments"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write what the scripts compare with")

// main behaves like the real command.
func cpor() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	args := append(os.Args[1:], "")
	switch {
	case args[0] == "detect":
		os.Exit(Detect(ctx, os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	case args[0] == "monitor":
		os.Exit(Monitor(ctx, nil, os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	case args[0] == "bench" && args[1] == "detect":
		os.Exit(experiments.Main(ctx, os.Args[3:], os.Stdout, os.Stderr))
	}
	os.Exit(2)
}

func TestMain(m *testing.M) {
	if os.Getenv("CPOR_CHILD") != "" { // see TestKilled
		cpor()
	}
	testscript.Main(m, map[string]func(){"cpor": cpor})
}

func TestScripts(t *testing.T) {
	logs, err := filepath.Abs("../benchmarks/mutex/testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/scripts",
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "LOGS="+logs)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			// exits N COMMAND...: the command ends with that exit code.
			"exits": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 {
					ts.Fatalf("usage: exits N COMMAND...")
				}
				err := ts.Exec(args[1], args[2:]...)
				code := "0"
				if err != nil {
					code = "?"
					if x, ok := err.(interface{ ExitCode() int }); ok {
						code = string(rune('0' + x.ExitCode()))
					}
				}
				if code != args[0] {
					ts.Fatalf("exit code %s, want %s", code, args[0])
				}
			},
		},
	})
}
