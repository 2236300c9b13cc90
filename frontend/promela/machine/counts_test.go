package machine

import (
	"encoding/binary"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"cpor/frontend/promela/program"
	"cpor/frontend/promela/syntax"
	"cpor/frontend/source"
	"cpor/system"
)

type counts struct{ stored, matched, errors int }

// parseFile reads a model.
func parseFile(name string, defines map[string]string) (*syntax.Model, error) {
	f, err := source.Read(name)
	if err != nil {
		return nil, err
	}
	return syntax.Parse(f, defines)
}

// count explores all states as SPIN does without any reduction.
func count(s *System) counts {
	c, _ := countFailed(s, true)
	return c
}

// countFailed also returns how many of the errors are not invalid end states.
//
// With track what only reductions need is executed, too, and without it what
// only a search without them may keep.
func countFailed(s *System, track bool) (c counts, failed int) {
	c, failed, _ = countSome(s, track, math.MaxInt)
	return c, failed
}

// unfit says why a model is not compared on infinite executions: it is too large, or
// a step of it fails, where SPIN's verifier stops. It is empty if there is no reason.
// The work is bounded by steps, not by the clock: a single atomic sequence can have
// more ways through than anybody can count.
func unfit(s *System, most int) string {
	switch _, failed, small := countSome(s, false, most); {
	case failed > 0:
		return "a step fails"
	case !small:
		return "too large"
	}
	return ""
}

// countSome is countFailed, but if most is not [math.MaxInt], it ends at the first
// failure, and when there are more than most states, or a hundred times as many
// statements were executed; small is false then.
func countSome(s *System, track bool, most int) (c counts, failed int, small bool) {
	seen := map[string]bool{}
	var bytes []byte
	key := func(st system.State) string {
		bytes = bytes[:0]
		for _, w := range st {
			bytes = binary.LittleEndian.AppendUint64(bytes, w)
		}
		return string(bytes)
	}
	m := s.newMachine()
	m.Track(track)
	work := []system.State{s.initial[0]}
	seen[key(work[0])] = true
	c.stored = 1
	bounded := most < math.MaxInt
	for len(work) > 0 {
		st := work[len(work)-1]
		work = work[:len(work)-1]
		m.Load(st)
		mark := m.Mark()
		enabled, stuck := false, false
		for t := range m.NumThreads() {
			for alt := uint64(0); ; {
				out := m.Step(t, alt)
				if out.Kind != system.Moved {
					stuck = stuck || out.Kind == system.Blocked && !out.AtEnd
					break
				}
				enabled = true
				c.errors += m.failed
				failed += m.failed
				if m.fatal || bounded && (failed > 0 || c.stored > most || m.edges > 100*most) {
					return c, failed, false
				}
				e := m.Encode(nil)
				m.Rewind(mark)
				if k := key(e); !seen[k] {
					seen[k] = true
					c.stored++
					work = append(work, e)
				} else {
					c.matched++
				}
				if out.Next == 0 {
					break
				}
				alt = out.Next
			}
		}
		if !enabled && stuck {
			c.errors++
		}
	}
	return c, failed, true
}

// micro are the small models of testdata/micro, whose counts index.csv has as SPIN
// 6.5.2 printed them.
const micro = "testdata/micro"

// other says why a run of SPIN's is not compared.
var other = map[string]string{
	"rv_poll.pml": "a fault in a guard that never holds is one error here, and one more, the " +
		"invalid end state, there",
	"q_dangling.pml": "fatal: SPIN's search stops, and its counts depend on the order",
	"runmax.pml":     "SPIN runs out of its state vector first",
	"runmax2.pml":    "SPIN runs out of its state vector first",
	"runmax3.pml":    "SPIN runs out of its state vector first",
	"assertstop.pml": "-c1: SPIN stops at the first error",
	"atominf.pml": "an atomic sequence without end is a violation here, and SPIN's bound on " +
		"the depth there",
	"xs_full.pml": "two senders claim a channel with xs, which is an error here, and there only " +
		"with partial-order reduction",
	"xs_por.pml":    "with partial-order reduction",
	"xs_xusafe.pml": "with partial-order reduction",
	"nestelse2.pml": "SPIN's verifier refuses it, and so do we",
}

func load(t *testing.T, path string, o Options) (*System, error) {
	t.Helper()
	m, err := parseFile(path, nil)
	if err != nil {
		return nil, err
	}
	p, err := program.Resolve(m)
	if err != nil {
		return nil, err
	}
	return New(p, o)
}

func TestSpinCounts(t *testing.T) {
	f, err := os.Open(filepath.Join(micro, "index.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	compared, refused := 0, 0
	for _, r := range rows[1:] {
		name, spin, cc, status := r[0], r[1], r[2], r[4]
		path := filepath.Join(micro, name)
		if status == "spin-error" && name != "chuninit.pml" {
			if _, err := load(t, path, Options{}); err == nil {
				t.Errorf("%s: SPIN refuses it: %s", name, r[11])
			}
			refused++
			continue
		}
		if spin != "-o1 -o2 -o3" && spin != "-m -o1 -o2 -o3" || !strings.Contains(cc, "SAFETY") ||
			status != "ok" || other[name] != "" {
			continue
		}
		s, err := load(t, path, Options{Lossy: strings.Contains(spin, "-m"),
			EmptyChannels: strings.Contains(r[3], "-q"), InnerFirst: strings.Contains(r[3], "-J")})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(s.prog.Claims) > 0 || len(s.prog.LTLs) > 0 {
			continue
		}
		compared++
		c := count(s)
		stored, _ := strconv.Atoi(r[5])
		matched, _ := strconv.Atoi(r[6])
		errors, _ := strconv.Atoi(r[10])
		if u, _ := countFailed(s, false); u != c {
			t.Errorf("%s: %+v with tracking, %+v without", name, c, u)
		}
		if want := (counts{stored, matched, errors}); c != want {
			t.Errorf("%s: %+v, SPIN %+v (%s)", name, c, want, r[11])
		}
	}
	if compared != 235 || refused != 7 {
		t.Errorf("%d runs compared, %d models refused", compared, refused)
	}
	t.Logf("%d runs compared, %d models refused", compared, refused)
}
