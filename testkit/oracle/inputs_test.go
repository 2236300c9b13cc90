package oracle_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cpor/testkit/sample"

	"cpor/detect/computation"
	"cpor/detect/logs"
	"cpor/detect/predicate"
	"cpor/detect/traces"
	"cpor/frontend/model"
	"cpor/frontend/model/resolve"
	"cpor/frontend/model/syntax"
	pmlprogram "cpor/frontend/promela/program"
	promela "cpor/frontend/promela/syntax"
	"cpor/frontend/source"
)

var (
	inputs = flag.Uint64("inputs", 0, "how many mutated inputs to feed to the scanners and "+
		"parsers, all together")
	scanners = flag.String("scanner", "", "only the scanners and parsers whose names begin so")
)

// scanner is something that reads what people or other programs wrote.
type scanner struct {
	name  string
	share uint64 // of the inputs
	seeds func(t *testing.T) []string
	// try feeds one input to it and returns what is wrong: a panic, an error
	// without a text or outside of the input, a result that contradicts itself.
	try func(text []byte) string
}

// pieces returns the parts of files: between lines "---", and the code of documents.
func pieces(t *testing.T, patterns ...string) []string {
	var out []string
	for _, p := range patterns {
		files, err := filepath.Glob(p)
		if err != nil || files == nil {
			t.Fatalf("no seeds in %s: %v", p, err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, regexp.MustCompile("(?m)^(?:---.*|```.*)$").Split(string(b), -1)...)
		}
	}
	return out
}

func modelSeeds(t *testing.T) []string {
	return pieces(t, "../../docs/language.md", "../../benchmarks/*.model",
		"../../frontend/model/testdata/*.models", "../../frontend/model/*/testdata/*.model")
}

func message(err error, text []byte) string {
	if err != nil && err.Error() == "" {
		return "an error without a text"
	}
	return ""
}

// built finishes what a reader put together.
func built(b *computation.Builder, err error) string {
	if err != nil {
		return message(err, nil)
	}
	c, _, err := b.Build(true)
	if err == nil && !c.Consistent(c.Final()) {
		return "an inconsistent computation was accepted"
	}
	return ""
}

var allScanners = []scanner{
	{"model syntax", 20, modelSeeds, func(text []byte) string {
		f, err := syntax.Parse(source.New("fuzz.model", string(text)))
		switch {
		case f == nil:
			return "no file"
		case err != nil:
			return message(err, text)
		case len(f.Broken) > 0 || f.Lost:
			return "broken declarations without an error"
		}
		for _, d := range f.Decls {
			if d.Pos() < 0 || d.End() < d.Pos() || int(d.End()) > len(text) {
				return fmt.Sprintf("%s spans %d to %d", syntax.String(d), d.Pos(), d.End())
			}
		}
		return ""
	}},
	{"model names and types", 2, modelSeeds, func(text []byte) string {
		prog, err := resolve.Check(source.New("fuzz.model", string(text)), resolve.Options{})
		if (prog == nil) != (err != nil) {
			return "a program and an error, or neither"
		}
		return message(err, text)
	}},
	{"model compiled", 2, modelSeeds, func(text []byte) string {
		m, err := model.Parse("fuzz.model", string(text), model.Options{})
		if (m == nil) != (err != nil) {
			return "a model and an error, or neither"
		}
		return message(err, text)
	}},
	{"parameters", 2, func(*testing.T) []string {
		return []string{"N=0", "N=3", "B=-1", "S=0x1f", "N=0b1", "N=0o17", "S=1_000", "B=true",
			"B=false", "N= 7 ", "N=99999999999999999999", "S=1e3", "D=", "N='a'", "N=--1", "n=1"}
	}, func(text []byte) string {
		name, value, _ := strings.Cut(string(text), "=")
		prog, err := resolve.Check(parameterised, resolve.Options{
			Params: map[string]string{name: value}})
		if (prog == nil) != (err != nil) {
			return "a program and an error, or neither"
		}
		if prog != nil {
			for _, c := range prog.Consts {
				if c.Name == "S" && (c.Value < 0 || c.Value > 15) || c.Name == "B" &&
					c.Value&^1 != 0 {
					return fmt.Sprintf("%s is %d", c.Name, c.Value)
				}
			}
		}
		return message(err, text)
	}},
	{"promela", 12, func(t *testing.T) []string {
		return append(pieces(t, "../../docs/promela.md",
			"../../frontend/promela/machine/testdata/micro/*.pml"),
			"#define N 3\n#if N > 2 && defined(N)\n#ifdef X\n#else\nbyte a[N];\n#endif\n#elif "+
				"0\n#endif\n",
			"bool a, b, c\nltl p {[](a -> <>b) <-> (a U b V c) || X !c W 1}\n", "ltl {[]<>}",
			"ltl {((((", "ltl {世 U a\xffb}",
			"#define f(a, b) (a + b)\n#define g f(1,\n#undef g\nint x = f(f(1, 2), 3) /* c */ // "+
				"d\n")
	}, func(text []byte) string {
		if bytes.Contains(text, []byte("include")) {
			return "" // would read files
		}
		m, err := promela.Parse(source.New("fuzz.pml", string(text)), nil)
		if err == nil {
			_, err = pmlprogram.Resolve(m)
		}
		return message(err, text)
	}},
	{"predicates", 25, func(t *testing.T) []string {
		return append(pieces(t, "../../docs/detect.md"), "forall i != j: !(i.primary && j.primary)",
			"count(i: i.x) <= 1 || p1.s in {\"a\", 'b'}",
			"max(i: i.x) - 3.5 > {1..2}", "a.\"b c\".d =~ 'x'", "((", "1e9.x")
	}, func(text []byte) string {
		_, err := predicate.Parse(string(text))
		return message(err, text)
	}},
	{"logs", 8, func(*testing.T) []string {
		return []string{
			"a {\"a\":1}\nx=1\nb {\"b\":1,\"a\":1}\ny={\"z\":[1,2]}\n", "x=\"1\na {\"a\":1}\n",
			"{\"hosts\":[\"a\"]}\n{\"host\":\"a\",\"clock\":[1],\"vars\":{\"x\":{\"y\":null}}}\n{\"trace\":\"t\"}",
			`{"host":"a","clock":{"a":1,"b":0},"event":"x","vars":{"x":1,"y":[1,{"z":null}],"w":{"v":true}}}`,
			`{"clock": {"a": 01}, "host" : "a\u0062" , "vars":{"s":"\"", "f":-1.5e3}}`,
		}
	}, func(text []byte) string {
		execs, err := logs.Read([]logs.Input{{Name: "log", Data: text}},
			logs.Options{Lenient: len(text)%2 == 0})
		for _, x := range execs {
			if err == nil && !x.Consistent(x.Final()) {
				return "an inconsistent computation was accepted"
			}
		}
		return message(err, text)
	}},
	{"spans", 3, func(*testing.T) []string {
		return []string{
			`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"a"}}]},"scopeSpans":[{"spans":[{"traceId":"t","spanId":"1","name":"x","startTimeUnixNano":"1","endTimeUnixNano":"3","parentSpanId":"2"},{"traceId":"t","spanId":"2","name":"y","startTimeUnixNano":"2","endTimeUnixNano":"2"}]}]}]}`,
			`{"data":[{"spans":[{"traceID":"t","spanID":"1","startTime":1,"duration":-5,"processID":"p"}],"processes":{"p":{"serviceName":""}}}]}`,
		}
	}, func(text []byte) string {
		b := computation.NewBuilder("")
		_, err := traces.ReadOTLP(text, b)
		if bad := built(b, err); bad != "" {
			return bad
		}
		b = computation.NewBuilder("")
		_, err = traces.ReadJaeger(text, b)
		return built(b, err)
	}},
}

var parameterised = source.New("params.model",
	"const N = 2\nconst S uint4 = 3\nconst B = true\nconst D = N * 2\nvar A [N]int\nthread T() { "+
		"assert(B || S < 15) }\ninit { go T() }\n")

// mutator makes inputs out of seeds: of a few lines, with a few changes of
// bytes, of tokens, and pieces of other seeds.
type mutator struct {
	r      *rand.Rand
	seeds  []string
	tokens []string
	buf    []byte
}

var token = regexp.MustCompile(
	`[A-Za-z_][A-Za-z_0-9]*|[0-9]+|"[^"\n]*"|[-+*/%&|^<>=!:.]+|[(){}\[\],;#@'?~\\]`)

// tokensOf returns the tokens of seeds, and some that are trouble everywhere.
func tokensOf(seeds []string) (tokens []string) {
	known := map[string]bool{}
	for _, s := range seeds {
		for _, w := range token.FindAllString(s, -1) {
			if !known[w] {
				known[w] = true
				tokens = append(tokens, w)
			}
		}
	}
	return append(tokens, "", " ", "\n", "\x00", "\xff", "世", "99999999999999999999", "-1", "/*",
		"//", "\"", "'", "((((((((", "1e999", "\r\n", "\ufeff")
}

// window returns a seed, or some lines of a long one.
func (m *mutator) window() string {
	s := m.seeds[m.r.IntN(len(m.seeds))]
	const most = 160
	if len(s) <= most || m.r.IntN(64) == 0 {
		return s
	}
	from := m.r.IntN(len(s) - most)
	if i := strings.LastIndexByte(s[:from], '\n'); i >= from-most {
		from = i + 1
	}
	to := min(len(s), from+m.r.IntN(most)+20)
	if i := strings.IndexByte(s[to:], '\n'); i >= 0 && i < most {
		to += i + 1
	}
	return s[from:to]
}

// next returns another input; it is valid until the next call.
func (m *mutator) next() []byte {
	b := append(m.buf[:0], m.window()...)
	at := func() int { return m.r.IntN(len(b) + 1) }
	span := func() (int, int) {
		i := at()
		return i, min(len(b), i+m.r.IntN(12))
	}
	replace := func(i, j int, s string) {
		tail := string(b[j:])
		b = append(append(b[:i], s...), tail...)
	}
	for range 1 + m.r.IntN(4) {
		switch m.r.IntN(8) {
		case 0: // a byte
			if len(b) > 0 {
				b[m.r.IntN(len(b))] = byte(m.r.Uint32())
			}
		case 1: // a bit
			if len(b) > 0 {
				b[m.r.IntN(len(b))] ^= 1 << m.r.IntN(8)
			}
		case 2:
			i, j := span()
			replace(i, j, "")
		case 3: // a piece twice
			i, j := span()
			k := at()
			replace(k, k, string(b[i:j]))
		case 4, 5: // a token in the place of another
			i := at()
			for i > 0 && i < len(b) && letter(b[i]) && letter(b[i-1]) {
				i--
			}
			j := i
			for j < len(b) && letter(b[j]) {
				j++
			}
			if j == i && j < len(b) {
				j++
			}
			replace(i, j, m.tokens[m.r.IntN(len(m.tokens))])
		case 6: // a token more
			i := at()
			replace(i, i, m.tokens[m.r.IntN(len(m.tokens))])
		case 7: // the end of something else
			w := m.window()
			if len(b)+len(w) < 1<<12 {
				i := at()
				replace(i, len(b), w[m.r.IntN(len(w)+1):])
			}
		}
	}
	m.buf = b
	return b
}

func letter(b byte) bool {
	return b == '_' || b|0x20 >= 'a' && b|0x20 <= 'z' || b >= '0' &&
		b <= '9'
}

// tried is try, where a panic is a fault, too.
func (s *scanner) tried(text []byte) (fault string) {
	defer func() {
		if r := recover(); r != nil {
			fault = fmt.Sprintf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return s.try(text)
}

// TestInputs feeds mutated texts to every scanner and parser: each is read, or
// refused with a message. It is fast, since nothing steers it; the fuzz targets
// of the packages follow coverage instead.
func TestInputs(t *testing.T) {
	n := cmp.Or(*inputs, sample.Of[uint64](10_000, 10_000, 300_000))
	total := uint64(0)
	for i := range allScanners {
		total += allScanners[i].share
	}
	for i := range allScanners {
		s := &allScanners[i]
		if !strings.HasPrefix(s.name, *scanners) {
			continue
		}
		feed(t, s, n*s.share/total)
	}
}

func feed(t *testing.T, s *scanner, n uint64) {
	seeds := s.seeds(t)
	tokens := tokensOf(seeds)
	var next, done, bad atomic.Uint64
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	now := make([]atomic.Pointer[[]byte], workers) // what each is at, for one that does not end
	const batch = 1000
	begin := time.Now()
	for w := range workers {
		wg.Go(func() {
			for {
				k := next.Add(1) - 1
				if k*batch >= n || bad.Load() >= maxReports {
					return
				}
				// A batch is the same whichever worker makes it.
				m := &mutator{r: rand.New(rand.NewPCG(*first+k, 77)), seeds: seeds, tokens: tokens}
				for range min(batch, n-k*batch) {
					text := m.next()
					now[w].Store(&text)
					if fault := s.tried(text); fault != "" && bad.Add(1) <= maxReports {
						t.Errorf("%s: %q: %s", s.name, text, fault)
					}
					done.Add(1)
				}
				now[w].Store(nil)
			}
		})
	}
	stop := make(chan bool)
	go func() {
		tick := time.NewTicker(time.Minute)
		defer tick.Stop()
		before := make([]*[]byte, workers)
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			fmt.Printf("%s: %d of %d inputs, %d faults, %.0f a second\n", s.name, done.Load(), n,
				bad.Load(), float64(done.Load())/time.Since(begin).Seconds())
			for w := range now {
				if p := now[w].Load(); p != nil && p == before[w] {
					fmt.Printf("%s: for a minute at %q\n", s.name, *p)
				} else {
					before[w] = p
				}
			}
		}
	}()
	wg.Wait()
	close(stop)
	t.Logf("%s: %d inputs from %d seeds, %d faults, %.0f a second", s.name, done.Load(), len(seeds),
		bad.Load(), float64(done.Load())/time.Since(begin).Seconds())
}
