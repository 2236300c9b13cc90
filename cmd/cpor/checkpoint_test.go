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

	"cpor/cmd/cpor/command"
	"cpor/testkit/sample"
)

var kills = flag.Int("kills", 5, "how often a search with checkpoints is killed")

// TestKill kills a search that keeps checkpoints at random moments, without mercy, and
// continues with the last checkpoint each time: in the end the result is that of a
// search that nobody disturbed.
func TestKill(t *testing.T) {
	sample.Skip(t)
	bin := buildCommand(t)
	robots := filepath.Join("..", "..", "benchmarks", "robots.model")
	writers := filepath.Join(t.TempDir(), "writers.model")
	if err := os.WriteFile(writers,
		[]byte("var x uint8\nthread T(i uint8) { for range 5 { x = i } }\n"+
			"init { go T(0); go T(1); go T(2) }\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	counters := filepath.Join(t.TempDir(), "counters.model")
	if err := os.WriteFile(counters, []byte(`var x, y, z uint8
mutex m
thread P(i int) {
	for {
		lock(m)
		x = (x + 1) & 15
		y = (y + 1) & 15
		unlock(m)
		z = (z + uint8(i)) & 7
	}
}
init { go P(0); go P(1); go P(2) }
ltl response { [] (x == 3 -> <> x == 4) }
ltl recurrence { []<> (x == 1) -> []<> (y == 2) }
`), 0o666); err != nil {
		t.Fatal(err)
	}
	whole := killedResult{"pass", true, 276096, 789888, 0}
	// Which transitions no automaton's state can follow depends on who visits a state first.
	states := killedResult{"pass", true, 276096, 0, 0}
	for _, tt := range []struct {
		name  string
		args  []string
		every string // the interval of checkpoints
		want  killedResult
	}{
		{"stored on a disk", []string{"-por", "none", "-D", "R=3", "-disk",
			filepath.Join(t.TempDir(), "states"), "-max-memory", "200MB", robots}, "300ms",
			killedResult{"pass", true, 326759, 980277, 0}},
		{"temporal", []string{"-ltl", "all", "-por", "none", counters}, "20ms", states},
		{"temporal, reduced", []string{"-ltl", "all", counters}, "20ms",
			killedResult{Verdict: "pass", Exhaustive: true}},
		{"temporal, weakly fair", []string{"-ltl", "all", "-por", "none", "-fair", counters},
			"20ms", states},
		{"temporal, strongly fair", []string{"-ltl", "all", "-por", "none", "-strong-fair",
			counters}, "300ms", whole},
		{"stored states", []string{"-por", "none", "-D", "R=3", robots}, "20ms",
			killedResult{"pass", true, 326759, 980277, 0}},
		{"stored states, plain", []string{"-por", "none", "-store", "plain", "-D", "R=3", robots},
			"20ms", killedResult{"pass", true, 326759, 980277, 0}},
		{"executions", []string{"-search", "stateless", writers}, "20ms",
			killedResult{"pass", true, 0, 0,
				15 * 14 * 13 * 12 * 11 * 10 * 9 * 8 * 7 * 6 / (120 * 120)}},
	} {
		t.Run(tt.name, func(t *testing.T) { killAndResume(t, bin, tt.args, tt.every, tt.want) })
	}
}

// killedResult is what a search has found out in the end. States and transitions do not count
// where they depend on who comes first.
type killedResult struct {
	Verdict                         string
	Exhaustive                      bool
	States, Transitions, Executions uint64
}

func killAndResume(t *testing.T, bin string, args []string, every string, want killedResult) {
	dir := filepath.Join(t.TempDir(), "checkpoints")
	first := append([]string{"run", "-json", "-q", "-checkpoint", dir, "-checkpoint-interval",
		every}, args...)
	again := []string{"resume", "-json", "-q", "-checkpoint-interval", every, dir}
	if i := slices.Index(args, "-max-memory"); i >= 0 {
		again = slices.Insert(again, 1, args[i], args[i+1])
	}
	killed := 0
	for killed < *kills {
		os.RemoveAll(dir)
		for args := first; ; {
			cmd := exec.Command(bin,
				slices.Concat(args, []string{"-workers", []string{"1", "2", "5"}[rand.IntN(3)]})...)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			stop := func() bool { return true }
			if killed < *kills {
				stop = time.AfterFunc(time.Duration(20+rand.IntN(500))*time.Millisecond, func() {
					cmd.Process.Kill()
				}).Stop
			}
			err := cmd.Wait()
			stop()
			out := stdout.Bytes()
			if err == nil {
				var got killedResult
				if err := json.Unmarshal(out, &got); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				if want.States == 0 {
					got.States = 0
				}
				if want.Transitions == 0 {
					got.Transitions = 0
				}
				if got != want {
					t.Fatalf("after %d kills: %+v, want %+v\n%s\n%s%s", killed, got, want,
						strings.Join(cmd.Args, " "), out, stderr.Bytes())
				}
				// The log of the last checkpoint, and of one that was killed behind it.
				if logs, err := filepath.Glob(filepath.Join(dir, "states-*")); err != nil ||
					len(logs) > 2 {
					t.Fatalf("after %d kills: %d logs are left, %v", killed, len(logs), err)
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
	stdout, stderr, code := inProcess(t, "run", "-por", "none", "-max-states", "2000",
		"-checkpoint", dir, "-workers", "1", filepath.Join("..", "..", "benchmarks",
			"robots.model"))
	got := stdout + stderr
	if code != command.ExitIncomplete || strings.Contains(got, "cpor resume") {
		t.Errorf("exit code %d\n%s", code, got)
	}
	for _, want := range []string{"no space left", "the search goes on", "limit of 2,000 states"} {
		if !strings.Contains(got, want) {
			t.Errorf("nothing says %q:\n%s", want, got)
		}
	}
}

// TestCheckpointFiles has the files of a checkpoint in other places than they were written,
// without what belongs to them, and damaged: who continues with all of them comes to the end, the
// others are told which file it is.
func TestCheckpointFiles(t *testing.T) {
	robots := filepath.Join("..", "..", "benchmarks", "robots.model")
	begin := func(states string, flags ...string) (dir, log string) {
		t.Helper()
		dir = filepath.Join(t.TempDir(), "checkpoints")
		args := slices.Concat([]string{"run", "-por", "none", "-workers", "1", "-max-states",
			states, "-checkpoint", dir}, flags, []string{robots})
		if stdout, stderr, code := inProcess(t, args...); code != command.ExitIncomplete {
			t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
		}
		logs, err := filepath.Glob(filepath.Join(dir, "states-*"))
		if err != nil || len(logs) != 1 {
			t.Fatal(logs, err)
		}
		return dir, logs[0]
	}
	resume := func(dir string, wantCode int, want ...string) {
		t.Helper()
		stdout, stderr, code := inProcess(t, "resume", dir)
		got := stdout + stderr
		if code != wantCode {
			t.Errorf("exit code %d, want %d\n%s", code, wantCode, got)
		}
		for _, w := range want {
			if !strings.Contains(strings.Join(strings.Fields(got), " "), w) {
				t.Errorf("nothing says %q:\n%s", w, got)
			}
		}
	}
	for _, store := range []string{"tree", "plain", "compact"} {
		dir, log := begin("3000", "-store", store)
		other, foreign := begin("3500", "-store", store)
		whole, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := os.ReadFile(foreign)
		if err != nil {
			t.Fatal(err)
		}
		put := func(b []byte) {
			t.Helper()
			if err := os.WriteFile(log, b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		name := filepath.Base(log)
		put(theirs)
		resume(dir, command.ExitMistake, name, "is not the log of this checkpoint")
		put(whole[:len(whole)/2])
		resume(dir, command.ExitMistake, name, "is damaged")
		changed := bytes.Clone(whole)
		changed[len(changed)/2] ^= 4
		put(changed)
		resume(dir, command.ExitMistake, name, "is damaged", "checksum")
		if err := os.Remove(log); err != nil {
			t.Fatal(err)
		}
		resume(dir, command.ExitMistake, name, "no such file")
		// What was not there before is of a checkpoint that did not come to its end.
		put(append(bytes.Clone(whole), theirs...))
		elsewhere := filepath.Join(t.TempDir(), "elsewhere")
		if err := os.CopyFS(elsewhere, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		if stdout, stderr, code := inProcess(t, "resume", "-max-states", "4000",
			dir); code != command.ExitIncomplete {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
		for _, d := range []string{dir, elsewhere, other} {
			code := command.ExitPass
			if store == "compact" {
				code = command.ExitIncomplete // it is not exact
			}
			resume(d, code, "states 4,877")
			if logs, err := filepath.Glob(filepath.Join(d, "states-*")); err != nil ||
				len(logs) != 1 {
				t.Error(logs, err)
			}
		}
	}
}
