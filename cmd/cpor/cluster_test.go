package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cpor/cmd/cpor/command"
	"cpor/testkit/sample"

	"cpor/benchmarks"
)

// launchers are the commands of the MPIs that the tests know, with the flags that
// allow more ranks than there are CPUs.
var launchers = map[string][]string{
	"mpirun.openmpi": {"--oversubscribe"},
	"mpirun.mpich":   nil,
}

// buildCommand builds cpor as it is shipped: without cgo.
func buildCommand(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "cpor")
	cmd := exec.Command("go", "build", "-o", bin, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// launch is the command that runs cpor on n ranks.
func launch(launcher string, n int, bin string, args ...string) *exec.Cmd {
	all := append([]string{}, launchers[launcher]...)
	all = append(all, "-n", fmt.Sprint(n), bin)
	cmd := exec.Command(launcher, append(all, args...)...)
	cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// mpirun runs cpor on n ranks and returns what it prints and its exit code.
func mpirun(t *testing.T, launcher string, n int, bin string, args ...string) (stdout,
	stderr string, code int) {
	t.Helper()
	cmd := launch(launcher, n, bin, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, ok := err.(*exec.ExitError); err != nil && !ok {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// eachLauncher runs a test with each MPI that is installed. That there is none is
// told aloud.
func eachLauncher(t *testing.T, test func(t *testing.T, launcher string)) {
	for launcher := range launchers {
		t.Run(launcher, func(t *testing.T) {
			if _, err := exec.LookPath(launcher); err != nil {
				t.Skipf("LEFT OUT: %s is not installed (apt-get install openmpi-bin mpich)",
					launcher)
			}
			test(t, launcher)
		})
	}
}

// clusterRow is a search whose counts on several ranks have to be those of one process.
type clusterRow struct {
	model string // in benchmarks, or a path
	args  []string
}

var clusterRows = []clusterRow{
	{"robots.model", []string{"-por", "cartesian"}},
	{"robots.model", []string{"-por", "none"}},
	{"philosophers.model", []string{"-all", "-por", "none"}},
	{"philosophers.model", []string{"-all", "-por", "cartesian"}},
	{"indexer.model", []string{"-por", "cartesian", "-D", "N=12"}},
	{"filesystem.model", []string{"-por", "none", "-D", "N=3"}},
	{"sharedptr.model", []string{"-por", "cartesian"}},
	{"sharedarray.model", []string{"-por", "cartesian"}},
	{"cmis.model", []string{"-por", "cartesian"}},
	{"filesystem.model", []string{"-por", "locks"}},
	{"filesystem.model", []string{"-por", "invisible-first"}},
	{"philosophers.model", []string{"-all", "-por", "locks", "-races", "none"}},
	{"sharedarray.model", []string{"-all", "-por", "none", "-races", "hb"}},
	{"cmis.model", []string{"-all", "-por", "none", "-races", "ld"}},
	{"mattern.model", []string{"-all", "-D", "WAVES=1", "-por", "none"}},
	{"testdata/cluster/symmetric.model", []string{"-por", "none"}},
	{"testdata/cluster/names.model", []string{"-por", "cartesian"}},
}

// path is where the model stands.
func (r clusterRow) path() string {
	if strings.Contains(r.model, "/") {
		return filepath.FromSlash(r.model)
	}
	return filepath.Join("..", "..", "benchmarks", r.model)
}

// counts are the members of the result that do not depend on the number of ranks.
func clusterCounts(t *testing.T, out string) string {
	t.Helper()
	var r struct {
		Verdict     string
		Exhaustive  bool
		States      uint64
		Transitions uint64
		Violations  []struct {
			Kind, Message, Pos string
			Trace              []any
		}
		More  uint64 `json:"more_violations"`
		Ended uint64 `json:"ended_loops"`
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := fmt.Sprintf("%s %v: %d states, %d transitions, %d ended loops, %d more", r.Verdict,
		r.Exhaustive, r.States, r.Transitions, r.Ended, r.More)
	for _, v := range r.Violations {
		s += fmt.Sprintf("; %s at %s", v.Kind, filepath.Base(v.Pos))
		if len(v.Trace) == 0 {
			s += ", no trace"
		}
	}
	return s
}

var (
	clusterStates = flag.Uint64("clusterstates", 0,
		"also compare the rows of table 1 with at most so many states on ranks")
	clusterFigures = flag.Bool("clusterfigures", false, "measure what ranks cost")
)

// TestCluster runs the command on ranks of each MPI: the counts and violations are
// those of one process. With -clusterstates N these are the rows of table 1, too.
func TestCluster(t *testing.T) {
	sample.Skip(t)
	bin := buildCommand(t)
	rows := clusterRows
	for _, ref := range benchmarks.Reference() {
		for por, c := range map[string]*benchmarks.Counts{"none": ref.Full,
			"cartesian": ref.Cartesian} {
			if c == nil || c.States > *clusterStates {
				continue
			}
			args := []string{"-all", "-por", por}
			for name, value := range ref.Params.Map() {
				args = append(args, "-D", name+"="+value)
			}
			rows = append(rows, clusterRow{ref.Benchmark + ".model", args})
		}
	}
	eachLauncher(t, func(t *testing.T, launcher string) {
		for _, row := range rows {
			args := append([]string{"run", "-json", "-workers", "2", row.path()}, row.args...)
			out, err := exec.Command(bin, args...).Output()
			if _, ok := err.(*exec.ExitError); err != nil && !ok {
				t.Fatal(err)
			}
			want := clusterCounts(t, string(out))
			for _, n := range []int{1, 2, 3, 8} {
				out, errs, _ := mpirun(t, launcher, n, bin, append(args, "-cluster")...)
				if out == "" {
					t.Fatalf("%v on %d ranks: %s", row, n, errs)
				}
				if got := clusterCounts(t, out); got != want {
					t.Errorf("%v on %d ranks: %s\nin one process: %s", row, n, got, want)
				}
			}
		}
	})
}

// TestClusterMistakes has what goes wrong before a search: it is told once, and the
// exit code is that of a mistake. What goes wrong without a launcher is in
// testdata/script/cluster.txtar.
func TestClusterMistakes(t *testing.T) {
	sample.Skip(t)
	bin := buildCommand(t)
	robots := filepath.Join("..", "..", "benchmarks", "robots.model")
	eachLauncher(t, func(t *testing.T, launcher string) {
		for _, c := range []struct{ args, want string }{
			{"no.model", "no.model: no such file"},
			{"-D M=1 " + robots, "there is no constant M"},
			{"-store compact " + robots, "-cluster requires -store tree"},
			{"-checkpoint " + robots + " " + robots, "not a directory"},
		} {
			_, errs, code := mpirun(t, launcher, 2, bin, append([]string{"run", "-cluster"},
				strings.Fields(c.args)...)...)
			if code != command.ExitMistake || strings.Count(errs, c.want) != 1 {
				t.Errorf("%s: exit code %d\n%s", c.args, code, errs)
			}
		}
		// What was begun in one process continues in one.
		dir := filepath.Join(t.TempDir(), "one")
		if _, _, code := inProcess(t, "run", "-por", "none", "-max-states", "100", "-checkpoint",
			dir, robots); code != command.ExitIncomplete {
			t.Fatal(code)
		}
		out, errs, code := mpirun(t, launcher, 2, bin, "resume", dir)
		if code != command.ExitMistake || strings.Count(errs, "started without -cluster") != 1 ||
			out != "" {
			t.Errorf("on ranks: exit code %d\n%s%s", code, out, errs)
		}
	})
}

// TestClusterLimits ends searches on several ranks early, or lets them continue on a disk.
func TestClusterLimits(t *testing.T) {
	sample.Skip(t)
	bin := buildCommand(t)
	eachLauncher(t, func(t *testing.T, launcher string) {
		clusterDisk(t, launcher, bin)
		// Some 10^10 states, which no machine covers in that time.
		big := []string{"run", "-cluster", "-json", "-por", "none", "-workers", "1",
			"-deadlock=false", "-D", "N=20", filepath.Join("..", "..", "benchmarks",
				"philosophers.model")}
		for _, c := range []struct{ flag, value, reason string }{
			{"-timeout", "300ms", "time-out after 300ms"},
			{"-max-states", "5000", "limit of 5,000 states"},
		} {
			out, errs, code := mpirun(t, launcher, 2, bin, append(big, c.flag, c.value)...)
			if code != command.ExitIncomplete || !strings.Contains(out, c.reason) ||
				!strings.Contains(out, `"verdict": "incomplete"`) {
				t.Errorf("%s %s: exit code %d\n%s%s", c.flag, c.value, code, out, errs)
			}
		}
	})
}

// clusterDisk runs a search that may use a disk: the counts are those in memory, and
// nothing is left behind.
func clusterDisk(t *testing.T, launcher, bin string) {
	t.Helper()
	args := []string{"run", "-json", "-all", "-workers", "2", "-por", "none",
		filepath.Join("..", "..", "benchmarks", "philosophers.model")}
	out, _, _ := inProcess(t, args...)
	want := clusterCounts(t, out)
	dir := filepath.Join(t.TempDir(), "spilled")
	for _, n := range []int{1, 2, 4} {
		out, errs, _ := mpirun(t, launcher, n, bin, append(args, "-cluster", "-disk", dir,
			"-max-memory", "2GB")...)
		if out == "" {
			t.Fatalf("on %d ranks: %s", n, errs)
		}
		if got := clusterCounts(t, out); got != want || !strings.Contains(out, `"spilled"`) {
			t.Errorf("on %d ranks: %s\nin one process: %s", n, got, want)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("on %d ranks: left behind: %v", n, err)
		}
	}
}

// TestClusterFigures prints the figures of docs/cluster.md, for machines that do nothing
// else: what is sent, and how long it takes, on ranks of one worker; and in five rounds, in
// turns, the speed of two ranks of one worker in terms of one process with two workers.
func TestClusterFigures(t *testing.T) {
	if !*clusterFigures {
		t.Skip("measures only with -clusterfigures")
	}
	bin := buildCommand(t)
	type figures struct {
		Milliseconds float64 `json:"duration_ms"`
		States       uint64
		Traffic      struct {
			States, Spared, Bytes, Messages uint64
			Speaking                        time.Duration `json:"speaking_ns"`
		}
	}
	measure := func(t *testing.T, cmd *exec.Cmd) (f figures) {
		out, err := cmd.Output()
		if _, ok := err.(*exec.ExitError); err != nil && !ok {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out, &f); err != nil || f.States == 0 {
			t.Fatalf("%v\n%s", err, out)
		}
		return f
	}
	eachLauncher(t, func(t *testing.T, launcher string) {
		for _, row := range []clusterRow{
			{"robots.model", []string{"-D", "R=3", "-por", "none"}},
			{"philosophers.model", []string{"-D", "N=10", "-por", "none", "-all"}},
		} {
			args := slices.Concat([]string{"run", "-json"}, row.args, []string{row.path()})
			for _, n := range []int{1, 2, 4, 8, 16} {
				f := measure(t, launch(launcher, n, bin, append(args, "-cluster", "-workers",
					"1")...))
				tr := f.Traffic
				t.Logf("%s, %2d ranks: %7.0f ms, %d states, %d sent, %d spared, %.1f bytes a "+
					"state, %.0f bytes a message, speaking %.1f %% of the time",
					row.model, n, f.Milliseconds, f.States, tr.States, tr.Spared,
					float64(tr.Bytes)/float64(max(tr.States, 1)),
					float64(tr.Bytes)/float64(max(tr.Messages, 1)),
					float64(tr.Speaking.Milliseconds())/f.Milliseconds/float64(n)*100)
			}
			var ratios []float64
			for range 5 {
				alone := measure(t, exec.Command(bin, append(args, "-workers", "2")...))
				ranks := measure(t, launch(launcher, 2, bin, append(args, "-cluster", "-workers",
					"1")...))
				ratios = append(ratios, alone.Milliseconds/ranks.Milliseconds)
			}
			slices.Sort(ratios)
			t.Logf("%s: 2 ranks of 1 worker have %.2f of the speed of 2 workers (%.2f to %.2f)",
				row.model, ratios[2], ratios[0], ratios[4])
		}
	})
}

var rankKills = flag.Int("rankkills", 2, "how often a rank of a search with checkpoints is "+
	"killed, for each MPI")

// TestClusterKill kills a random rank of a search that keeps checkpoints at a random
// moment, and continues with the last checkpoint on another number of ranks, or in one
// process: the job ends, it has been told how to continue, and in the end the result is
// that of a search that nobody disturbed.
func TestClusterKill(t *testing.T) {
	sample.Skip(t)
	bin := buildCommand(t)
	benchmark := func(name string) string {
		return filepath.Join("..", "..", "benchmarks",
			name+".model")
	}
	for _, c := range []struct {
		name string
		args []string
		want killedResult
	}{
		{"states", []string{"-por", "none", "-D", "R=3", benchmark("robots")},
			killedResult{"pass", true, 326759, 980277, 0}},
		{"states on disks", []string{"-por", "none", "-D", "R=3", "-disk",
			filepath.Join(t.TempDir(), "states"), "-max-memory", "800MB", benchmark("robots")},
			killedResult{"pass", true, 326759, 980277, 0}},
		{"races", []string{"-por", "none", "-races", "ld", "-D", "N=6", benchmark("filesystem")},
			killedResult{"pass", true, 531441, 2834352, 0}},
	} {
		t.Run(c.name, func(t *testing.T) { killRanks(t, bin, c.args, c.want) })
	}
}

func killRanks(t *testing.T, bin string, what []string, want killedResult) {
	eachLauncher(t, func(t *testing.T, launcher string) {
		dir := filepath.Join(t.TempDir(), "checkpoints")
		first := slices.Concat([]string{"run", "-cluster", "-json", "-q", "-workers", "1",
			"-checkpoint", dir, "-checkpoint-interval", "20ms"}, what)
		again := []string{"resume", "-json", "-q", "-workers", "1", "-checkpoint-interval", "20ms",
			dir}
		if i := slices.Index(what, "-max-memory"); i >= 0 {
			again = slices.Insert(again, 1, what[i:i+2]...)
		}
		kills, resumed, chain, stuck := 0, 0, 0, 0
		for args := first; kills < *rankKills || chain > 0; {
			n := 1 + rand.IntN(4)
			if args[0] == "run" {
				n++
			}
			cmd := launch(launcher, n, bin, args...)
			if n == 1 {
				cmd = exec.Command(bin, args...)
			}
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			// A chain of kills comes to its end although each of its runs continues for a moment
			// only.
			killed, over := make(chan bool, 1), make(chan bool, 1)
			ctx, ended := context.WithCancel(t.Context())
			if kills < *rankKills && chain < 6 {
				// of the others some are killed before there is a checkpoint
				saved := rand.IntN(4) > 0
				go func() {
					for saved && ctx.Err() == nil {
						if _, err := os.Stat(filepath.Join(dir, "checkpoint")); err == nil {
							break
						}
						time.Sleep(2 * time.Millisecond)
					}
					time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
					did := killRank(bin)
					killed <- did
					if did && n > 1 {
						over <- endLauncher(ctx, cmd, bin)
					}
				}()
			} else {
				killed <- false
			}
			err := cmd.Wait()
			ended()
			if err == nil {
				var got killedResult
				if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
					t.Fatalf("%v\n%s%s", err, stdout.Bytes(), stderr.Bytes())
				}
				if got != want {
					t.Fatalf("after %d kills, the last time on %d ranks: %+v, want %+v", chain, n,
						got, want)
				}
				<-killed
				os.RemoveAll(dir)
				args, chain = first, 0
				continue
			}
			if !<-killed {
				t.Fatalf("nobody was killed, and a search on %d ranks ended with %v\n%s%s", n, err,
					stdout.Bytes(), stderr.Bytes())
			}
			if n > 1 && <-over {
				stuck++
			}
			kills++
			chain++
			if _, err := os.Stat(filepath.Join(dir, "checkpoint")); err == nil {
				if told := stderr.String(); n > 1 && args[0] == "run" &&
					(!strings.Contains(told, "cpor resume ") || !strings.Contains(told, dir)) {
					t.Errorf("nothing says how to go on:\n%s", stderr.Bytes())
				}
				args = again
				resumed++
			}
		}
		t.Logf("%d kills, %d times resumed; the launcher did not end by itself %d times", kills,
			resumed, stuck)
	})
}

// endLauncher waits until ctx ends, which it does with the launcher. Open MPI 4.1's mpirun can
// wait for itself after a rank has died (in PMIx_server_finalize): when no rank has been left for
// some time, it is killed, and endLauncher returns true.
func endLauncher(ctx context.Context, cmd *exec.Cmd, bin string) bool {
	for alone := 0; alone < 50; alone++ {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(200 * time.Millisecond):
		}
		if len(ranksOf(bin)) > 0 {
			alone = 0
		}
	}
	cmd.Process.Kill()
	return true
}

// killRank kills one of the processes that run a program, and reports whether there was any.
func killRank(bin string) bool {
	pids := ranksOf(bin)
	rand.Shuffle(len(pids), func(i, j int) { pids[i], pids[j] = pids[j], pids[i] })
	for _, pid := range pids {
		if p, err := os.FindProcess(pid); err == nil && p.Kill() == nil {
			return true
		}
	}
	return false
}

// ranksOf returns the processes that run a program, by what /proc knows.
func ranksOf(bin string) (pids []int) {
	exes, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, exe := range exes {
		if to, err := os.Readlink(exe); err == nil && to == bin {
			pid, _ := strconv.Atoi(strings.Split(exe, "/")[2])
			pids = append(pids, pid)
		}
	}
	return pids
}
