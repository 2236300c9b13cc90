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
	dir := filepath.Join(t.TempDir(), "checkpoints")
	robots := filepath.Join("..", "..", "benchmarks", "robots.model")
	type result struct {
		Verdict             string
		Exhaustive          bool
		States, Transitions uint64
	}
	want := result{"pass", true, 326759, 980277}
	first := []string{"run", "-json", "-q", "-por", "none", "-D", "R=3", "-checkpoint", dir, "-checkpoint-interval", "20ms", robots}
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
				var got result
				if err := json.Unmarshal(out, &got); err != nil {
					t.Fatalf("%v\n%s", err, out)
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
