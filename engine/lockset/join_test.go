package lockset

import (
	"math/rand/v2"
	"slices"
	"testing"

	"cpor/system"
)

// TestJoin divides random sets of accesses between two histories and joins these: that is
// the history of all of them, and breaks the rule if they do by its definition. Each history
// is exported on the way, and imported where locks have other numbers.
func TestJoin(t *testing.T) {
	broken, whole := 0, 0
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 3))
		here := &System{table: NewTable(), rule: LDPrime}
		there := &System{table: NewTable(), rule: LDPrime}
		there.table.Of([]system.Loc{2})
		there.table.ownerNumber(owner{7, 0})
		sets := [][]system.Loc{nil, {0}, {1}, {0, 1}, {1, 2}, {0, 1, 2}}
		class := system.LockProtected
		if r.IntN(4) == 0 {
			class = system.Unshared
		}
		type one struct {
			thread int
			write  bool
			locks  []system.Loc
		}
		var accesses []one
		threads := 1 + r.IntN(3)
		writes, least := r.IntN(3), r.IntN(len(sets))
		for range r.IntN(8) {
			accesses = append(accesses, one{r.IntN(threads), r.IntN(3) < writes,
				sets[least+r.IntN(len(sets)-least)]})
		}
		history := func(s *System, as []one) word {
			c, w := newCache(s.table), virgin
			for _, a := range as {
				w, _ = c.next(LDPrime, class, noInitThread, w,
					access{thread: a.thread, write: a.write, held: s.table.Of(a.locks)})
			}
			return w
		}
		cut := r.IntN(len(accesses) + 1)
		a, b := history(here, accesses[:cut]), history(there, accesses[cut:])
		b, rest, err := here.importWord(there.exportWord(nil, b))
		if err != nil || len(rest) > 0 {
			t.Fatal(err, rest)
		}
		got, problem := newCache(here.table).join(class, a, b)
		if want := history(here, accesses); got != want {
			t.Fatalf("seed %d: %v, cut at %d: %#x and %#x are %#x, want %#x", seed, accesses, cut,
				a, b, got, want)
		}
		if alone := a == reported || b == reported; (problem != fine) != (got == reported &&
			!alone) {
			t.Fatalf("seed %d: %v, cut at %d: problem %d", seed, accesses, cut, problem)
		}
		if class == system.Unshared {
			continue
		}
		common, some, write := sets[len(sets)-1], map[int]bool{}, false
		for _, a := range accesses {
			common = slices.DeleteFunc(slices.Clone(common), func(l system.Loc) bool {
				return !slices.Contains(a.locks, l)
			})
			some[a.thread] = true
			write = write || a.write
		}
		if breaks := len(some) > 1 && write && len(common) == 0; breaks != (got == reported) {
			t.Fatalf("seed %d: %v: %#x", seed, accesses, got)
		} else if breaks {
			broken++
		} else {
			whole++
		}
	}
	if broken < 500 || whole < 1000 {
		t.Errorf("only %d broken, %d whole", broken, whole)
	}
}

// FuzzImport imports what no rank has exported: that is told or makes a state of the right
// length, which is exported as what it was.
func FuzzImport(f *testing.F) {
	f.Add(uint8(LDPrime), []byte{1, 2, 3, 1<<3 | 2, 5, 4})
	f.Add(uint8(HB), []byte{1, 2, 1, 3, 2 | 2<<2, 4, 6, 0, 0, 9})
	f.Fuzz(func(t *testing.T, rule uint8, b []byte) {
		s := &System{table: NewTable(), rule: LDPrime, slots: []system.Loc{0, 1}, words: 1}
		if Rule(rule) == HB {
			s.rule, s.words, s.histories = HB, 2, newHistories()
		}
		var st system.State
		for _, x := range b {
			st = append(st, uint64(x))
		}
		at, err := s.Import(nil, st)
		if err != nil {
			return
		}
		again, err := s.Import(nil, s.Export(nil, at))
		if err != nil || !slices.Equal(again, at) {
			t.Errorf("%v: %v, then %v, %v", st, at, again, err)
		}
	})
}
