package lockset

import (
	"fmt"
	"slices"
	"testing"

	"cpor/engine/lockset/persistent"
	"cpor/frontend/model"
	"cpor/system"
)

// pendInvisOps bounds which data the invisible transitions that follow a
// thread's next visible one may access, as the paper does (Stoller 2002, section
// 6): what the thread may ever access and the rule allows it now, with the locks
// that it holds and those that it is about to take. With LD that is the paper's
// pendInvisOps, and with it algorithm 2 is algorithm 2-LD; with LD' it is
// pendInvisOps' and algorithm 2-LD'.
//
// The searches execute transitions to see what they access, which is at most as
// much; this is the reference that the paper's algorithms are told apart by.
func pendInvisOps(m *Machine, t int, next []system.Access) []system.Access {
	locking := m.inner.Capabilities().Locking
	futures := m.inner.Capabilities().Futures
	locks := locking.Held(t, nil)
	for _, a := range next {
		if locking.Class(a.Loc) == system.Lock && !slices.Contains(locks, a.Loc) {
			locks = append(locks, a.Loc)
		}
	}
	slices.Sort(locks)
	future := futures.Future(t)
	var ops []system.Access
	for slot, l := range m.sys.slots {
		for _, write := range []bool{false, true} {
			if write && !future.MayWrite(l) || !write && !future.MayRead(l) {
				continue
			}
			// With fewer locks an access is allowed only if no lock is
			// needed: after all have been released.
			for _, held := range []Set{m.cache.of(locks), m.cache.of(nil)} {
				a := access{thread: t, loc: l, write: write, held: held}
				if _, p := m.cache.next(m.sys.rule, m.sys.class[l], m.sys.init[slot],
					m.get(int32(slot)), a); p == fine {
					ops = append(ops, system.Access{Loc: l, Write: write})
					break
				}
			}
		}
	}
	return ops
}

// TestAlgorithm2 tells algorithms 2-LD and 2-LD' apart: the persistent sets that
// they find in states of the paper's examples. The table is that of
// docs/locks.md.
func TestAlgorithm2(t *testing.T) {
	// Dining philosophers, section 6: eating is local.
	philosophers := `
var f [3]monitor
thread P(left, right int) {
	synchronized (f[left]) { synchronized (f[right]) { skip } }
}
init { go P(0, 1); go P(1, 2); go P(2, 0) }
`
	// The example of section 7, where v is accessed without a lock first, and
	// once more, later, by a third thread that has the lock.
	semaphore := `
semaphore sem
monitor o
var v uint4
thread First() { up(sem); v = 1 }
thread Second() { down(sem); synchronized (o) { v = 2 } }
thread Third() { down(sem); v = 3 }
init { go First(); go Second(); go Third() }
`
	// Main is to initialize v, and has not done so.
	initial := `
monitor o, k
var v, w uint4
thread Main() { v = 1; synchronized (o) { v = 2 } }
thread Worker() { synchronized (k) { if w == 1 { synchronized (o) { v = 3 } }; w = 1 } }
init { go Main(); go Worker() }
`
	tests := []struct {
		name, text string
		init       map[string]string
		steps      []int // threads
		threads    int   // that are looked at
		ld, ldp    string
	}{
		{"philosophers: P(0) has its first fork", philosophers, nil, []int{0}, 3, "[0 1]", "[0 1]"},
		{"semaphore: v = 1 has been executed", semaphore, nil, []int{0, 0, 1}, 3, "[1 2]", "[1]"},
		{"initialisation: nothing has been executed", initial, map[string]string{"v": "Main[0]"},
			nil, 2, "[0 1]", "[1]"},
	}
	for _, tt := range tests {
		m, err := model.Parse("test.model", tt.text, model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for rule, want := range map[Rule]string{LD: tt.ld, LDPrime: tt.ldp} {
			o := Options{Rule: rule}
			if rule == LDPrime {
				o.InitThread = tt.init // LD takes whoever comes first
			}
			sys, err := New(m.System(), o)
			if err != nil {
				t.Fatal(err)
			}
			mach := sys.newMachine()
			mach.Load(sys.Initial()[0])
			mach.Track(true)
			for _, s := range tt.steps {
				if out := mach.Step(s, 0); out.Kind != system.Moved || out.Violation != nil {
					t.Fatalf("%s: step of %d: %v %v", tt.name, s, out.Kind, out.Violation)
				}
			}
			var threads []persistent.Thread
			var ops []string
			for u := range tt.threads {
				mark := mach.Mark()
				out := mach.Step(u, 0)
				x := persistent.Thread{}
				for _, a := range mach.Accesses() {
					if !mach.class(a.Loc).Data() {
						x.Accesses = append(x.Accesses, a)
					}
				}
				if out.Kind == system.Moved {
					x.Weight = 1
				}
				mach.Rewind(mark)
				bound := pendInvisOps(mach, u, x.Accesses)
				for _, a := range bound {
					ops = append(ops, fmt.Sprintf("%d:%s:%v", u, mach.LocName(a.Loc), a.Write))
				}
				x.Accesses = append(x.Accesses, bound...)
				threads = append(threads, x)
			}
			var set []int
			for u, in := range persistent.NewChooser(sys).Choose(mach, threads) {
				if in {
					set = append(set, u)
				}
			}
			got := fmt.Sprint(set)
			if got != want {
				t.Errorf("%s, %v: %s, want %s (%v)", tt.name, rule, got, want, ops)
			}
		}
	}
}
