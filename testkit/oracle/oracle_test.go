package oracle_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpor/testkit/sample"

	"cpor/cartesian"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/frontend/model"
	"cpor/system"
	"cpor/testkit/oracle"
)

var (
	count = flag.Uint64("models", 0, "how many models a test takes; 0: as -short and -long say")
	first = flag.Uint64("first", 1, "the seed of the first model")
	many  = flag.Int("workers", 0, "how many workers the engines with more than one have; 0: "+
		"as the table says")
	turns = flag.Bool("turns", false, "let the configurations of an engine (its workers, "+
		"stores and orders) take turns over the models, for a run over very many")
	only = flag.String("engine", "", "hold this engine of the table to brute force, and no "+
		"other")
	maxWork = flag.Uint64("transitions", 200_000, "how many transitions a stateless search may "+
		"need; a program that needs more is passed over by that engine")
	failures = flag.String("failures", filepath.Join(os.TempDir(), "cpor-oracle"),
		"the directory where shrunk models that fail are written")
	counts = flag.Bool("counts", false, "only programs whose threads count")
	size   = flag.String("size", "mixed", "how large the programs over the whole grammar are: "+
		"tiny, mixed or large")
	seed = flag.Uint64("seed", 0, "check the model of this seed only, and print it")
)

// maxStates bounds a model's full search; larger models are passed over.
const maxStates = 4000

// configs are the mixes of constructs that are drawn from in turn: everything
// at once, and each group on its own, where programs can be longer.
var configs = []oracle.Config{
	oracle.Everything,
	{Threads: 3, Statements: 5, Loops: true, Locks: true, Awaits: true, Choices: true,
		Selects: true},
	{Threads: 3, Statements: 4, Loops: true, Channels: true, Selects: true},
	{Threads: 2, Statements: 4, Loops: true, Channels: true, Rendezvous: true, Selects: true,
		Atomic: true},
	{Threads: 3, Statements: 5, Atomic: true, Awaits: true, Choices: true, Pointers: true,
		Functions: true},
	{Threads: 2, Statements: 4, Creation: true, Awaits: true, Locks: true, Loops: true},
	{Threads: 3, Statements: 4, Monitors: true, Data: true, Choices: true},
	{Threads: 2, Statements: 5, Invariants: true, Loops: true, Awaits: true, Atomic: true},
}

// cartesianFactory returns cartesian expanders; a bound on prefixes must not
// matter either.
func cartesianFactory(sys system.System, maxLength int) search.Factory {
	return func() search.Expander {
		return cartesian.New(sys, cartesian.Options{MaxLength: maxLength})
	}
}

// models returns how many models a test takes.
func models(short, usual, long uint64) uint64 {
	return cmp.Or(*count, sample.Of(short, usual, long))
}

// check compares the cartesian search, with 1 worker and with 4, with the full
// search on one model. The first result is empty if they agree; the second says
// why the model was passed over.
func check(text string) (diff, over string) {
	m, err := model.Parse("generated.model", text, model.Options{})
	if err != nil {
		if strings.Contains(err.Error(), "init") || oracle.LabelRefused(err) {
			return "", refusal(err)
		}
		return "the generated model is refused: " + err.Error(), ""
	}
	sys := m.System()
	want, res, err := oracle.Explore(sys, full.Factory(sys), 1, maxStates)
	if err != nil {
		return "full search: " + err.Error(), ""
	}
	if !res.Exhaustive {
		return "", fmt.Sprintf("more than %d states", maxStates)
	}
	for _, workers := range []int{1, 4} {
		// With 4 workers, prefixes of at most 9 transitions.
		got, r, err := oracle.Explore(sys, cartesianFactory(sys, 3*(workers-1)), workers, 0)
		if err != nil {
			return fmt.Sprintf("cartesian search, %d workers: %v", workers, err), ""
		}
		if !r.Exhaustive {
			return "the cartesian search is not exhaustive: " + r.Reason, ""
		}
		if d := oracle.Diff(want, got); d != "" {
			return fmt.Sprintf("cartesian search, %d workers:\n%s", workers, d), ""
		}
	}
	par, pr, err := oracle.Explore(sys, full.Factory(sys), 4, 0)
	if err != nil {
		return "full search, 4 workers: " + err.Error(), ""
	}
	if d := oracle.Diff(want, par); d != "" || pr.States != res.States ||
		pr.Transitions != res.Transitions {
		return fmt.Sprintf("full search, 4 workers: %d states, %d transitions, with one %d, %d\n%s",
			pr.States, pr.Transitions, res.States, res.Transitions, d), ""
	}
	return "", ""
}

// show prints the model of -seed.
func show(t *testing.T, text string) string {
	if *seed != 0 {
		t.Log("\n" + text)
	}
	return text
}

// TestTheorem1 is Theorem 1 of Gueta et al. 2007 as a test: the full search,
// the cartesian search, and both on many workers reach the same local states
// of each thread, the same violations and the same deadlocks.
func TestTheorem1(t *testing.T) {
	parallel(t, models(100, 250, 10_000), func(seed uint64) (string, string) {
		text := show(t, oracle.Generate(seed, configs[seed%uint64(len(configs))]))
		d, over := check(text)
		if d != "" {
			d += "\n" + text
		}
		return d, over
	})
}

// TestPieces executes each transition of generated models on pieces as well:
// the local part and the values of just the locations that the transition asks
// for give the same outcome, accesses and effect as the whole state.
func TestPieces(t *testing.T) {
	for s := uint64(1); s <= 400; s++ {
		m, err := model.Parse("generated.model",
			oracle.Generate(s, configs[s%uint64(len(configs))]), model.Options{})
		if err != nil {
			continue
		}
		sys := m.System()
		checkPieces(t, s, sys)
	}
}

// whole is a machine with its pieces.
type whole interface {
	system.Machine
	system.Pieces
}

func checkPieces(t *testing.T, seed uint64, sys system.System) {
	a, b := sys.NewMachine().(whole), sys.NewMachine().(whole)
	a.Track(true)
	b.Track(true)
	cur := sys.Initial()[0]
	for depth := range 60 {
		a.Load(cur)
		mark := a.Mark()
		var succ []system.State
		for th := range a.NumThreads() {
			for alt, more := uint64(0), true; more; {
				local := a.Local(th, nil)
				before := sys.NewMachine().(whole)
				before.Load(cur)
				out := a.Step(th, alt)
				// Another machine, in another state, gets only the pieces.
				b.Load(sys.Initial()[0])
				asked := map[system.Loc]bool{}
				got := b.StepOn(th, alt, local, func(l system.Loc) uint64 {
					if asked[l] {
						t.Fatalf("seed %d: location %d asked for twice", seed, l)
					}
					asked[l] = true
					return before.Value(l)
				})
				if fmt.Sprint(out.Kind, out.Next, out.Created) != fmt.Sprint(got.Kind, got.Next,
					got.Created) {
					t.Fatalf(
						"seed %d, depth %d, thread %d: outcome %+v on pieces, %+v on the state",
						seed, depth, th, got, out)
				}
				if fmt.Sprint(a.Accesses()) != fmt.Sprint(b.Accesses()) {
					t.Fatalf("seed %d, depth %d, thread %d: accesses %v on pieces, %v on the state",
						seed, depth, th, b.Accesses(), a.Accesses())
				}
				if fmt.Sprint(a.Local(th, nil)) != fmt.Sprint(b.Local(th, nil)) {
					t.Fatalf("seed %d, depth %d, thread %d: another local part on pieces", seed,
						depth, th)
				}
				for _, acc := range a.Accesses() {
					if acc.Write && a.Value(acc.Loc) != b.Value(acc.Loc) {
						t.Fatalf("seed %d, depth %d, thread %d: %s = %d on pieces, %d on the state",
							seed, depth, th, a.LocName(acc.Loc), b.Value(acc.Loc), a.Value(acc.Loc))
					}
				}
				if out.Kind == system.Moved {
					succ = append(succ, a.Encode(nil))
				}
				a.Rewind(mark)
				alt, more = out.Next, out.Next != 0
			}
		}
		if len(succ) == 0 {
			return
		}
		cur = succ[(int(seed)+depth)%len(succ)]
	}
}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(m.Run())
}
