package cliflag

import (
	"bytes"
	"errors"
	"flag"
	"slices"
	"strings"
	"testing"
	"time"
)

type values struct {
	on     bool
	n      int
	time   time.Duration
	size   Size
	names  List
	params map[string]string
}

func newSet() (*Set, *values) {
	f, v := New("test"), &values{params: map[string]string{}}
	f.BoolVar(&v.on, "all", false, "go on")
	f.IntVar(&v.n, "workers", 3, "the `number` of workers")
	f.DurationVar(&v.time, "timeout", 0, "end after this `time`")
	f.Var(&v.size, "max-memory", "end at this `size`")
	f.Var(&v.names, "hosts", "a `list`")
	f.Func("D", "`NAME=VALUE`", func(s string) error {
		name, value, err := Assignment(s)
		v.params[name] = value
		return err
	})
	f.Group("How far:", "workers", "timeout", "max-memory")
	f.Group("The rest:", "D", "all", "hosts")
	return f, v
}

func TestParse(t *testing.T) {
	f, v := newSet()
	rest, err := f.Parse([]string{"a", "-all", "b", "-workers=7", "-D", " N = 4=5", "-",
		"-max-memory", "2GiB", "-hosts", "p, q", "--timeout", "90s", "--", "-workers", "8"})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "-", "-workers", "8"}; !slices.Equal(rest, want) {
		t.Errorf("arguments %q, want %q", rest, want)
	}
	if !v.on || v.n != 7 || v.time != 90*time.Second || v.size != 2<<30 || v.params["N"] != "4=5" ||
		!slices.Equal(v.names, List{"p", "q"}) {
		t.Errorf("values %+v", v)
	}
	for name, want := range map[string]bool{"all": true, "D": true, "nothing": false} {
		if f.Given(name) != want {
			t.Errorf("-%s given: %v", name, !want)
		}
	}
	if f, _ := newSet(); f.Given("workers") {
		t.Error("a default counts as given")
	}
}

// TestRenamed: a former name of a flag works, and is not shown.
func TestRenamed(t *testing.T) {
	for _, args := range [][]string{
		{"-ranks", "5", "a"}, {"a", "--ranks=5"}, {"-workers", "5", "a"},
	} {
		f, v := newSet()
		f.Renamed("ranks", "workers")
		rest, err := f.Parse(append(args, "--", "-ranks"))
		if err != nil || v.n != 5 || !slices.Equal(rest, []string{"a", "-ranks"}) ||
			!f.Given("workers") {
			t.Errorf("%q: %d, %q, %v", args, v.n, rest, err)
		}
		var help bytes.Buffer
		f.Describe(&help)
		if strings.Contains(help.String(), "ranks") {
			t.Error("the help shows the former name")
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string
	}{
		{"-worker 3", "unknown flag -worker; did you mean -workers?"},
		{"--frobnicate", "unknown flag -frobnicate"},
		{"-D N", "-D N: want NAME=VALUE, such as -D N=16"},
		{"-D =3", "-D =3: want NAME=VALUE, such as -D N=16"},
		{"-D N=", "-D N=: want NAME=VALUE, such as -D N=16"},
		{"file -workers", "the flag -workers needs a value"},
		{"-workers many", "-workers many: want a number"},
		{"-workers 99999999999999999999", "-workers 99999999999999999999: value out of range"},
		{"-timeout 10", "-timeout 10: want a duration such as 90s, 10m or 1h30m"},
		{"-all=perhaps", "-all=perhaps: want -all=true or -all=false"},
		{"-max-memory x", "-max-memory x: want a size such as 500MB or 2GiB"},
		{"-max-memory 0", "-max-memory 0: the size must be above 0"},
		{"-max-memory -1", "-max-memory -1: a size cannot be negative"},
		{"-max-memory 16EiB", "-max-memory 16EiB: want a size such as 500MB or 2GiB"},
		{"-max-memory 9EiB", "-max-memory 9EiB: there is no machine with so much memory"},
	} {
		f, _ := newSet()
		if rest, err := f.Parse(strings.Fields(tt.args)); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %q, %v; want the error %q", tt.args, rest, err, tt.want)
		}
	}
	f, _ := newSet()
	if _, err := f.Parse([]string{"-h"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v", err)
	}
}

func TestSize(t *testing.T) {
	for text, want := range map[string]Size{"500MB": 500e6, "2GiB": 2 << 30, "1024": 1024,
		"1.5k": 1500} {
		var s Size
		if err := s.Set(text); err != nil || s != want {
			t.Errorf("%s: %d, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "x", "1e30GB", "99999999999999999999"} {
		var s Size
		if err := s.Set(text); err == nil {
			t.Errorf("%q is %d", text, s)
		}
	}
	none, some := Size(0), Size(1<<30)
	if none.String() != "" || some.String() != "1.0 GiB" {
		t.Errorf("%q and %q", none.String(), some.String())
	}
}

func TestWantsAll(t *testing.T) {
	for args, want := range map[string]bool{
		"-h": false, "-h all": true, "x --help all": true, "-h all x": false, "all": false,
	} {
		if got := WantsAll(strings.Fields(args)); got != want {
			t.Errorf("%s: %v", args, got)
		}
	}
}

func TestHelp(t *testing.T) {
	f, _ := newSet()
	var b bytes.Buffer
	f.Describe(&b)
	out := b.String()
	f.VisitAll(func(fl *flag.Flag) {
		if !strings.Contains(out, "\n  -"+fl.Name+" ") {
			t.Errorf("-%s is missing in\n%s", fl.Name, out)
		}
	})
	if strings.Index(out, "How far:") > strings.Index(out, "The rest:") {
		t.Errorf("the headings are not in their order:\n%s", out)
	}
	b.Reset()
	f.Common("workers")
	f.DescribeCommon(&b)
	if want := "\nCommon flags:\n  -workers"; !strings.HasPrefix(b.String(), want) ||
		strings.Count(b.String(), "\n  -") != 1 ||
		!strings.Contains(b.String(), `"cpor help test all" describes all `) {
		t.Errorf("common flags:\n%s", b.String())
	}
	bare := New("bare")
	bare.Int("n", 3, "take `this many`")
	bare.Bool("q", false, "no progress")
	b.Reset()
	bare.Describe(&b)
	if got, want := b.String(), `
Flags:
  -n this many      take this many (default 3)
  -q                no progress
`; got != want {
		t.Errorf("without headings:\n%s", got)
	}
}
