package forecast

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"cpor/engine"
	_ "cpor/engine/all"
	"cpor/engine/search/reduction"
	"cpor/frontend"
	_ "cpor/frontend/model"
	"cpor/internal/human"
)

var measure = flag.Bool("measure", false, "measure how good the forecasts are: reductions, "+
	"workers, with and without a disk; takes minutes")

// TestForecast has the work sets of searches as they were: the forecast is refused at
// the beginning and good in the second half. A work set that grows without end has none.
func TestForecast(t *testing.T) {
	for name, c := range map[string]struct {
		total  float64
		states []float64 // parts of total
		queued []float64
	}{
		"raft": {346_559,
			[]float64{.109, .196, .299, .362, .446, .558, .646, .715, .820, .872, .941},
			[]float64{15109, 24087, 32355, 36206, 39776, 42458, 42458, 41150, 34990, 29951, 19445}},
		"philosophers": {46_763,
			[]float64{.044, .161, .282, .402, .527, .574, .669, .774, .813, .908, .950},
			[]float64{1147, 3059, 4195, 4992, 5337, 5209, 4779, 4123, 3751, 2134, 1318}},
		"robots": {326_759,
			[]float64{.081, .152, .235, .301, .377, .470, .556, .664, .757, .848, .920},
			[]float64{1431, 2037, 2859, 3053, 3405, 3421, 3413, 3223, 2814, 2122, 1289}},
	} {
		var f Forecast
		told := 0
		for i := 1; i < len(c.states); i++ {
			const steps = 20 // reports between two points that were noted
			for k := range steps {
				at := func(v []float64) float64 { return v[i-1] + (v[i]-v[i-1])*float64(k)/steps }
				done := at(c.states)
				part, ok := f.add(engine.Progress{
					Counters: engine.Counters{States: uint64(done * c.total)},
					Queued:   uint64(at(c.queued))})
				if ok && done < 0.25 || !ok && done > 0.6 {
					t.Errorf("%s: at %.2f a forecast: %v", name, done, ok)
				}
				if ok {
					told++
				}
				if ok && done > 0.5 && (part < done*0.7 || part > done*1.3) {
					t.Errorf("%s: at %.2f the forecast says %.2f", name, done, part)
				}
			}
		}
		if told < 80 {
			t.Errorf("%s: only %d forecasts", name, told)
		}
	}
	var f Forecast
	for n := uint64(100); n < 1_000_000; n += 100 {
		if _, ok := f.add(engine.Progress{Counters: engine.Counters{States: n},
			Queued: n / 3}); ok {
			t.Fatalf("a forecast at %d states, and as many are queued as ever", n)
		}
	}
	if len(f.points) > mostPoints {
		t.Errorf("%d points", len(f.points))
	}
}

func TestParabola(t *testing.T) {
	var xs, ys []float64
	for x := 0.25; x <= 1; x += 0.0625 {
		xs, ys = append(xs, x), append(ys, 7+x*(30-31*x))
	}
	c0, c1, c2 := parabola(xs, ys)
	if math.Abs(c0-7)+math.Abs(c1-30)+math.Abs(c2+31) > 1e-9 {
		t.Errorf("%v + %v x + %v x²", c0, c1, c2)
	}
	if _, ok := zero(parabola([]float64{1, 1, 1}, []float64{2, 3, 4})); ok {
		t.Error("a parabola through one point")
	}
}

// TestTell: the words.
func TestTell(t *testing.T) {
	var f Forecast
	half := func(n uint64, counts engine.CounterSet) (string, bool) {
		return f.Tell(engine.Progress{Counters: engine.Counters{States: n},
			Queued: n * (1000 - n) / 1000, Elapsed: time.Duration(n) * time.Second}, counts)
	}
	if text, ok := half(5, engine.CountStates); ok || text != "no forecast yet" {
		t.Errorf("at the beginning: %q", text)
	}
	var text string
	var ok bool
	for n := uint64(10); n <= 500; n += 10 {
		text, ok = half(n, engine.CountStates)
	}
	if !ok || text != "about 50%, 8:20 left" {
		t.Errorf("in the middle: %q", text)
	}
	f = Forecast{}
	if text, ok := half(1, engine.CountExecutions); ok || text != "no forecast" {
		t.Errorf("of executions: %q", text)
	}
}

// TestMeasure prints how good forecasts are: for what was really done when they were made, the
// states that they foretold over those that there were, the least and the most.
func TestMeasure(t *testing.T) {
	if !*measure {
		t.Skip("-measure measures the forecasts")
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintln(w, "model\treduction\tworkers\tdisk\tstates\tfirst at\tto 60%\tto 80%\tto 100%")
	for _, m := range []struct {
		file   string
		params map[string]string
	}{
		{"../../benchmarks/robots.model", map[string]string{"R": "3"}},
		{"../../benchmarks/philosophers.model", map[string]string{"N": "11"}},
		{"../../examples/mcs.model", map[string]string{"N": "4"}},
		{"../../examples/raft.model", map[string]string{"TERMS": "2"}},
	} {
		for _, por := range []string{"none", "cartesian", "auto"} {
			for _, workers := range []int{1, 2, 4} {
				fmt.Fprintln(w, measured(t, m.file, por, m.params, workers, false))
				w.Flush()
			}
		}
	}
	// With so little memory these are mostly on the disk.
	fmt.Fprintln(w, measured(t, "../../benchmarks/philosophers.model", "none", map[string]string{
		"N": "12"}, 2, true))
	fmt.Fprintln(w, measured(t, "../../benchmarks/philosophers.model", "auto", map[string]string{
		"N": "12"}, 2, true))
	fmt.Fprintln(w, measured(t, "../../examples/raft.model", "none", map[string]string{
		"TERMS": "2", "N": "3", "CRASHES": "2"}, 2, true))
}

// measured is a row of TestMeasure.
func measured(t *testing.T, file, por string, params map[string]string, workers int,
	disk bool) string {
	p, err := frontend.Load(file, frontend.Options{Params: params})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Lookup(reduction.Mode, por)
	if err != nil {
		t.Fatal(err)
	}
	task := &engine.Task{System: p.System, Options: engine.Options{Workers: workers,
		IgnoreDeadlocks: true, ProgressInterval: 20 * time.Millisecond}}
	if disk {
		task.Disk, task.MaxMemory = t.TempDir(), 45_000_000
	}
	var f Forecast
	var told [][2]float64 // the states when it was told, and those that there will be
	task.Progress = func(s engine.Progress) {
		if part, ok := f.add(s); ok {
			told = append(told, [2]float64{float64(s.States), float64(s.States) / part})
		}
	}
	res, err := e.Run(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	row := fmt.Sprintf("%s\t%s\t%d\t%s\t%s\t", strings.TrimSuffix(filepath.Base(file), ".model"),
		por, workers, onDisk(disk, res), human.Count(res.States))
	if len(told) == 0 {
		return row + "never\t\t\t"
	}
	total := float64(res.States)
	row += fmt.Sprintf("%.0f%%", 100*told[0][0]/total)
	from := 0.0
	for _, to := range []float64{0.6, 0.8, 1} {
		least, most := math.Inf(1), 0.0
		for _, x := range told {
			if done := x[0] / total; done >= from && done < to {
				least, most = min(least, x[1]/total), max(most, x[1]/total)
			}
		}
		from = to
		if most == 0 {
			row += "\t-"
		} else {
			row += fmt.Sprintf("\t%.2f-%.2f", least, most)
		}
	}
	return row
}

func onDisk(asked bool, res *engine.Result) string {
	if !asked {
		return "no"
	}
	for _, f := range res.Figures {
		if f.Key == "spilled" && !strings.Contains(f.Text, "all was in memory") {
			return "yes"
		}
	}
	return "not needed"
}
