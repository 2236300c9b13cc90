package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var kills = flag.Int("kills", 5, "how often a search with checkpoints is killed")

// TestKill kills a search that keeps checkpoints at random moments, without mercy, and
// goes on with the last checkpoint each time: in the end the result is that of a
// search that nobody disturbed.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	bin := buildCommand(t)
	robots := filepath.Join("..", "..", "benchmarks", "robots.model")
	writers := filepath.Join(t.TempDir(), "writers.model")
	if err := os.WriteFile(writers, []byte("var x uint8\nthread T() { for range 5 { x = 1 } }\ninit { go T(); go T(); go T() }\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args []string
		want killedResult
	}{
		{"stored states", []string{"-por", "none", "-D", "R=3", robots}, killedResult{"pass", true, 326759, 980277, 0}},
		{"executions", []string{"-search", "stateless", writers}, killedResult{"pass", true, 0, 0, 15 * 14 * 13 * 12 * 11 * 10 * 9 * 8 * 7 * 6 / (120 * 120)}},
	} {
		t.Run(tt.name, func(t *testing.T) { killAndResume(t, bin, tt.args, tt.want) })
	}
}

// killedResult is what a search has found out in the end. Transitions do not count where
// they depend on who comes first.
type killedResult struct {
	Verdict                         string
	Exhaustive                      bool
	States, Transitions, Executions uint64
}

func killAndResume(t *testing.T, bin string, args []string, want killedResult) {
	dir := filepath.Join(t.TempDir(), "checkpoints")
	first := append([]string{"run", "-json", "-q", "-checkpoint", dir, "-checkpoint-interval", "20ms"}, args...)
	again := []string{"resume", "-json", "-q", "-checkpoint-interval", "20ms", dir}
	killed := 0
	for killed < *kills {
		os.RemoveAll(dir)
		for args := first; ; {
			cmd := exec.Command(bin, slices.Concat(args, []string{"-workers", []string{"1", "2", "5"}[rand.IntN(3)]})...)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			stop := func() bool { return true }
			if killed < *kills {
				stop = time.AfterFunc(time.Duration(50+rand.IntN(800))*time.Millisecond, func() { cmd.Process.Kill() }).Stop
			}
			err := cmd.Wait()
			stop()
			out := stdout.Bytes()
			if err == nil {
				var got killedResult
				if err := json.Unmarshal(out, &got); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				if want.Transitions == 0 {
					got.Transitions = 0
				}
				if got != want {
					t.Fatalf("after %d kills: %+v, want %+v", killed, got, want)
				}
				break
			}
			if code := cmd.ProcessState.ExitCode(); code != -1 {
				t.Fatalf("after %d kills: exit code %d\n%s%s", killed, code, out, stderr.Bytes())
			}
			killed++
			if _, err := os.Stat(filepath.Join(dir, "checkpoint")); err == nil {
				args = again
			}
		}
	}
	t.Logf("%d kills", killed)
}

// TestCheckpointFullDisk lets a search keep checkpoints where there is no room: it says so and
// comes to its end.
func TestCheckpointFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/dev/full", filepath.Join(dir, "checkpoint.new")); err != nil {
		t.Skip(err)
	}
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	stdout, stderr, code := inProcess(t, "run", "-por", "none", "-max-states", "2000", "-checkpoint", dir, "-workers", "1", filepath.Join("..", "..", "benchmarks", "robots.model"))
	got := stdout + stderr
	if code != exitIncomplete || strings.Contains(got, "cpor resume") {
		t.Errorf("exit code %d\n%s", code, got)
	}
	for _, want := range []string{"no space left", "the search goes on", "limit of 2,000 states"} {
		if !strings.Contains(got, want) {
			t.Errorf("nothing says %q:\n%s", want, got)
		}
	}
}
