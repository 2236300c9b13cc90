package statestore

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// sharedStates returns states of n words like those of threads that do much the same, and the shape
// that some of them teach.
func sharedStates(r *rand.Rand, n int) (all [][]uint64, sh Shape) {
	s := make([]uint64, n)
	for range 400 {
		for range 1 + r.IntN(3) {
			w := r.IntN(n)
			s[w] = s[w]&^0xfff<<12 | r.Uint64N(12)<<r.IntN(40)
		}
		if r.IntN(20) == 0 {
			s[r.IntN(n)] = r.Uint64()
		}
		all = append(all, slices.Clone(s))
	}
	return all, Learn(all[:100], func(i int) int { return i - 1 })
}

// TestSharing lets one store tell another one states by the numbers of their parts: it has the same
// states then, as if their words had been inserted.
func TestSharing(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 41))
		n := 2 + r.IntN(9)
		all, sh := sharedStates(r, n)
		if !sh.Valid() {
			t.Fatalf("seed %d: %+v", seed, sh)
		}
		text, err := json.Marshal(sh)
		if err != nil {
			t.Fatal(err)
		}
		var again Shape
		if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(again, sh) {
			t.Fatalf("seed %d: %s: %v", seed, text, err)
		}
		var stores [2]Store
		var sessions [2]Sharing
		for i := range stores {
			stores[i] = newTree(Options{})
			if err := Share(stores[i], []Shape{again}); err != nil {
				t.Fatal(err)
			}
			sessions[i] = stores[i].NewSession().(Sharing)
		}
		if cuts := sessions[0].Shared(n); !slices.Equal(cuts, sh.Cuts) ||
			sessions[0].PartsOf(n) != len(cuts)-1 || sessions[0].Shared(n+1) != nil {
			t.Fatalf("seed %d: cuts %v, want %v", seed, cuts, sh.Cuts)
		}
		// The other store has numbers of its own.
		for i := range 50 {
			if _, _, err := sessions[1].Insert(all[len(all)-1-i], 0); err != nil {
				t.Fatal(err)
			}
		}
		// Half of them are inserted into the first store, too.
		for _, s := range all {
			if r.IntN(2) == 0 {
				if _, _, err := sessions[0].Insert(s, 0); err != nil {
					t.Fatal(err)
				}
			}
			before := stores[0].Len()
			numbers, ok := sessions[0].Number(s, 0, nil)
			if !ok || stores[0].Len() != before {
				t.Fatalf("seed %d: no numbers, or a state that was stored", seed)
			}
			var there [MaxNumbers]uint32
			built := make([]uint64, n)
			for p, number := range slices.Clone(numbers) {
				value := sessions[0].Part(nil, n, p, number)
				sessions[0].Put(built, p, value)
				if there[p], err = sessions[1].PartNumber(n, p, value); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(built, s) {
				t.Fatalf("seed %d: %x is put together as %x", seed, s, built)
			}
			_, was := sessions[1].Find(s)
			if err := sessions[1].DeferState(n, &there, 0); err != nil {
				t.Fatal(err)
			}
			var ref Ref
			if err := sessions[1].Settle(func(r Ref) error { ref = r; return nil }); err != nil {
				t.Fatal(err)
			}
			if was != (ref == 0) {
				t.Fatalf("seed %d: a state that was covered (%v) is added as %x", seed, was, ref)
			}
			found, ok := sessions[1].Find(s)
			if !ok || ref != 0 && ref != found || !slices.Equal(sessions[1].Load(found, nil), s) {
				t.Fatalf("seed %d: state %x is not what the other store has", seed, s)
			}
		}
		// What was saved continues with the same shape, and with no other one.
		var b bytes.Buffer
		if err := Save(stores[1], &b); err != nil {
			t.Fatal(err)
		}
		restored, err := Restore(&b, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := SaveStates(stores[1], &b, true); err != nil {
			t.Fatal(err)
		}
		if err := RestoreStates(restored, &b); err != nil {
			t.Fatal(err)
		}
		_, other := sharedStates(rand.New(rand.NewPCG(seed, 42)), n)
		if err := Share(restored, []Shape{other}); (err == nil) != slices.Equal(other.Cuts,
			sh.Cuts) {
			t.Errorf("seed %d: cuts %v in place of %v: %v", seed, other.Cuts, sh.Cuts, err)
		}
		if err := Share(restored, []Shape{sh}); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// TestShareMistakes has shapes that are none, stores that cannot have one, and parts that are none.
func TestShareMistakes(t *testing.T) {
	_, sh := sharedStates(rand.New(rand.NewPCG(1, 43)), 3)
	for name, change := range map[string]func(*Shape){
		"a word":         func(s *Shape) { s.Length = 1 },
		"no cuts":        func(s *Shape) { s.Cuts = nil },
		"another length": func(s *Shape) { s.Length = 4 },
		"the same cut":   func(s *Shape) { s.Cuts[1] = 0 },
		"unsorted":       func(s *Shape) { s.Cuts[1] = 64*3 + 1 },
		"no weight":      func(s *Shape) { s.Weights = nil },
		"too few values": func(s *Shape) { s.Distinct = s.Distinct[1:] },
		"a short row":    func(s *Shape) { s.Distinct[0] = nil },
	} {
		bad := sh
		bad.Cuts, bad.Weights, bad.Distinct = slices.Clone(sh.Cuts), slices.Clone(sh.Weights),
			slices.Clone(sh.Distinct)
		if change(&bad); bad.Valid() {
			t.Errorf("%s: %+v is taken for good", name, bad)
		}
	}
	if !sh.Valid() {
		t.Fatalf("%+v is not good", sh)
	}
	for _, k := range []Kind{Plain, Compact} {
		s, err := New(Options{Kind: k})
		if err != nil {
			t.Fatal(err)
		}
		if Share(s, []Shape{sh}) == nil {
			t.Errorf("a store of the kind %v has a shape", k)
		}
	}
	young := newTree(Options{})
	if _, _, err := young.NewSession().Insert([]uint64{1, 2, 3}, 0); err != nil {
		t.Fatal(err)
	}
	if Share(young, []Shape{sh}) == nil {
		t.Error("a store that has states already has a shape")
	}
	s := newTree(Options{})
	if err := Share(s, []Shape{sh}); err != nil {
		t.Fatal(err)
	}
	x := s.NewSession().(Sharing)
	if _, ok := x.Number([]uint64{1, 2}, 0, nil); ok {
		t.Error("a length without a shape has numbers")
	}
	for _, bad := range []struct {
		length, part int
		value        []uint64
	}{{2, 0, []uint64{1}}, {3, -1, nil}, {3, MaxNumbers, nil}, {3, 0, nil},
		{3, 0, make([]uint64, 9)}} {
		if n, err := x.PartNumber(bad.length, bad.part, bad.value); err == nil || err == ErrFull {
			t.Errorf("%+v has the number %d: %v", bad, n, err)
		}
	}
}
