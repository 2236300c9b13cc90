package auto_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	measure = flag.Bool("measure", false, "measure none, cartesian and auto beside each other; "+
		"takes minutes")
	rounds = flag.Int("rounds", 5, "how `often` each is run")
)

// measured are the rows of the table in docs/performance.md.
var measured = []string{
	"cmis.model", "filesystem.model -D N=5", "indexer.model -D N=8", "philosophers.model -D N=9",
	"robots.model -D R=3",
	"sharedarray.model", "sharedptr.model", "dpor/increments.model -D N=6",
	"dpor/lastzero.model -D N=9", "dpor/readers.model -D N=15",
	"locks/haltexception.model", "locks/philosophers.model -D N=5",
	"siegel/coordbarrier.model -D N=7", "siegel/dissbarrier.model -D N=5",
}

// TestMeasure prints the rows of the table in docs/performance.md: the command runs with each
// reduction in turns, with one worker, and what counts is the processor time of the process.
func TestMeasure(t *testing.T) {
	if !*measure {
		t.Skip("-measure measures the choice of the reduction")
	}
	cpor := filepath.Join(t.TempDir(), "cpor")
	build := exec.Command("go", "build", "-o", cpor, "cpor/cmd/cpor")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	fmt.Println("| model | states, none | cartesian | auto | ms, none | cartesian | auto | auto " +
		"/ the better |\n|---|---|---|---|---|---|---|---|")
	for _, row := range measured {
		args := strings.Fields(row)
		args[0] = "../../../benchmarks/" + args[0]
		if _, err := os.Stat(args[0]); err != nil {
			t.Fatal(err)
		}
		times := map[string][]time.Duration{}
		states := map[string]uint64{}
		var ratios []float64
		for range *rounds {
			for _, por := range []string{"none", "cartesian", "auto"} {
				c := exec.Command(cpor, append([]string{"run", "-json", "-q", "-all", "-workers",
					"1", "-minimize", "0", "-por", por}, args...)...)
				out, err := c.Output()
				var res struct{ States uint64 }
				if jerr := json.Unmarshal(out, &res); jerr != nil {
					t.Fatalf("%s: %v %v", row, err, jerr)
				}
				times[por] = append(
					times[por],
					c.ProcessState.UserTime()+c.ProcessState.SystemTime(),
				)
				states[por] = res.States
			}
			last := len(times["auto"]) - 1
			ratios = append(ratios, float64(times["auto"][last])/float64(min(times["none"][last],
				times["cartesian"][last])))
		}
		ms := func(por string) int64 {
			slices.Sort(times[por])
			return times[por][len(times[por])/2].Milliseconds()
		}
		slices.Sort(ratios)
		fmt.Printf("| %s | %d | %d | %d | %d | %d | %d | %.2f (%.2f–%.2f) |\n", row, states["none"],
			states["cartesian"], states["auto"],
			ms("none"), ms("cartesian"), ms("auto"), ratios[len(ratios)/2], ratios[0],
			ratios[len(ratios)-1])
	}
}
