package statestore

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"cpor/testkit/sample"
)

// someStates returns states of several lengths, each with the index of its
// parent among them, -1 for none: walks that change a word or two at a time.
func someStates(n int, seed uint64) (states [][]uint64, parents []int) {
	r := rand.New(rand.NewPCG(seed, 5))
	seen := map[string]bool{}
	for len(states) < n {
		p := -1
		s := make([]uint64, r.IntN(6))
		if len(states) > 0 && r.IntN(50) > 0 {
			p = max(0, len(states)-1-r.IntN(200))
			s = slices.Clone(states[p])
			for range 1 + r.IntN(2) {
				if len(s) > 0 {
					s[r.IntN(len(s))] = r.Uint64N(1 << (1 + r.IntN(12)))
				}
			}
			if r.IntN(30) == 0 {
				s = append(s, 1)
			}
		}
		k := string(stateBytes(s))
		if seen[k] || len(s) > 12 {
			continue
		}
		seen[k] = true
		states, parents = append(states, s), append(parents, p)
	}
	return states, parents
}

func stateBytes(s []uint64) (b []byte) {
	for _, w := range s {
		for i := range 8 {
			b = append(b, byte(w>>(8*i)))
		}
	}
	return append(b, byte(len(s)))
}

// TestArchive saves stores of all kinds and sizes, restores them, and continues with
// both: they have the same states under the same names, and take the same new ones.
func TestArchive(t *testing.T) {
	for _, kind := range everyKind() {
		for _, n := range []int{0, 1, 100, 1000, 3000, 30_000} {
			if n > 3000 && (!sample.Long() || slow > 1) {
				continue
			}
			states, parents := someStates(n+n/3+1, uint64(n))
			o := Options{Kind: kind, Workers: 2}
			if kind == Bitstate {
				o.MaxBytes = 1 << 20
			}
			st := mustNew(t, o)
			sessions := []Session{st.NewSession(), st.NewSession()}
			refs := make([]Ref, len(states))
			insert := func(x Session, i int) bool {
				var parent Ref
				if parents[i] >= 0 {
					parent = refs[parents[i]]
				}
				ref, added, err := x.Insert(states[i], parent)
				if err != nil {
					t.Fatal(err)
				}
				refs[i] = ref
				return added
			}
			for i := range n {
				insert(sessions[i%2], i)
			}
			var file, log bytes.Buffer
			if err := Save(st, &file); err != nil {
				t.Fatal(err)
			}
			if err := SaveStates(st, &log, true); err != nil {
				t.Fatal(err)
			}
			Keep(st)
			size := file.Len() + log.Len()
			whole, states2 := slices.Clone(file.Bytes()), slices.Clone(log.Bytes())
			st2, err := Restore(&file, o)
			if err == nil {
				err = RestoreStates(st2, &log)
			}
			if err != nil {
				t.Fatalf("%v, %d states: %v", kind, n, err)
			}
			if file.Len() != 0 {
				t.Errorf("%v, %d states: %d bytes are left", kind, n, file.Len())
			}
			if st2.Len() != st.Len() {
				t.Errorf("%v: %d states, want %d", kind, st2.Len(), st.Len())
			}
			if got, want := st2.Bytes(), st.Bytes(); want > 1<<20 &&
				(got > want+want/10 || got < want-want/10) {
				t.Errorf("%v, %d states: %d bytes, before %d", kind, n, got, want)
			}
			if want := st.Bytes(); want > 1<<20 && uint64(size) > want {
				t.Errorf("%v, %d states: %d bytes in the file, %d in memory", kind, n, size, want)
			}
			x, y := st.NewSession(), st2.NewSession()
			same := func(i int) {
				r1, ok1 := x.Find(states[i])
				r2, ok2 := y.Find(states[i])
				if r1 != r2 || ok1 != ok2 {
					t.Fatalf("%v: state %d is %#x, %v; restored %#x, %v", kind, i, r1, ok1, r2, ok2)
				}
				if !st.Loadable() || !ok1 {
					return
				}
				if s := y.Load(r2, nil); !slices.Equal(s, states[i]) {
					t.Fatalf("%v: state %d is %x, restored %x", kind, i, states[i], s)
				}
				var p1, p2 []Ref
				x.Parents(r1, func(r Ref) bool { p1 = append(p1, r); return true })
				y.Parents(r2, func(r Ref) bool { p2 = append(p2, r); return true })
				slices.Sort(p1)
				slices.Sort(p2)
				if !slices.Equal(p1, p2) {
					t.Fatalf("%v: state %d has the parents %x, restored %x", kind, i, p1, p2)
				}
			}
			for i := range states {
				same(i)
			}
			for i := n; i < len(states); i++ {
				added := insert(x, i)
				ref := refs[i]
				if added2 := insert(y, i); added != added2 || ref != refs[i] {
					t.Fatalf("%v: state %d, new: %#x, %v; restored %#x, %v", kind, i, ref, added,
						refs[i], added2)
				}
			}
			for i := range states {
				same(i)
			}
			// What is cut off is told.
			for range 20 {
				cut := rand.IntN(len(whole))
				if _, err := Restore(bytes.NewReader(whole[:cut]), o); !errors.Is(err, io.EOF) &&
					!errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatalf("%v: the first %d of %d bytes: %v", kind, cut, len(whole), err)
				}
				if len(states2) == 0 {
					continue
				}
				st, err := Restore(bytes.NewReader(whole), o)
				if err != nil {
					t.Fatal(err)
				}
				cut = rand.IntN(len(states2))
				if err := RestoreStates(st, bytes.NewReader(states2[:cut])); err == nil {
					t.Fatalf("%v: the first %d of %d bytes of states are taken for all", kind, cut,
						len(states2))
				}
			}
			if kind != Bitstate && st.Bytes() > 1<<20 {
				o.MaxBytes = st.Bytes() / 4
				if _, err := Restore(bytes.NewReader(whole), o); !errors.Is(err, ErrFull) {
					t.Errorf("%v: a quarter of the memory: %v", kind, err)
				}
			}
		}
	}
}

// everyKind returns all kinds of stores there are.
func everyKind() []Kind {
	kinds := make([]Kind, len(kindNames))
	for i := range kinds {
		kinds[i] = Kind(i)
	}
	return kinds
}
