package scenario

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	d, err := Parse("1 8 3 2 4 1 200 7 true 1 9 2,6")
	want := Description{Plan: 1, Calls: 8, Goroutines: 3, Each: 2, Together: 4, Prefix: 1,
		Limit: 200, Seed: 7, Only: true, Progress: LockFree, Steps: 9, Operations: "2,6"}
	if err != nil || d != want {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := Parse("1 8"); err == nil || !strings.Contains(err.Error(), "this version") {
		t.Errorf("half a description: %v", err)
	}
}

func TestSizes(t *testing.T) {
	d := Description{Goroutines: 3, Each: 2, Together: 4}
	if got := fmt.Sprint(d.Sizes()); got != "[2 x 1 calls 3 x 1 calls 2 x 2 calls]" {
		t.Errorf("%s", got)
	}
	d = Description{Goroutines: 3, Each: 2, Together: 6, Prefix: 1}
	want := "[2 x 1 calls 2 x 1 calls after 1 call 3 x 1 calls 2 x 2 calls 3 x 1 calls after 1 " +
		"call 2 x 2 calls after 1 call 3 x 2 calls 3 x 2 calls after 1 call]"
	if got := fmt.Sprint(d.Sizes()); got != want {
		t.Errorf("%s", got)
	}
}

// TestEvery compares with all lists of calls, of which those count that differ in more than the
// order of the goroutines.
func TestEvery(t *testing.T) {
	for _, s := range []Size{{2, 1, 0}, {2, 2, 1}, {3, 1, 2}, {3, 2, 0}, {4, 1, 0}} {
		d := Description{Plan: 3, Calls: 3, Limit: 1 << 20}
		want := map[string]bool{}
		d.lists(s.Prefix+s.Goroutines*s.Each, func(l []int) {
			prefix, rest := l[:s.Prefix], l[s.Prefix:]
			var gs [][]int
			for c := range slices.Chunk(rest, s.Each) {
				gs = append(gs, slices.Clone(c))
			}
			slices.SortFunc(gs, slices.Compare)
			want[d.text(prefix, gs)] = true
		})
		set := d.Generate(s)
		got := map[string]bool{}
		for _, text := range set.Texts {
			got[text] = true
			if !want[text] {
				t.Errorf("%s: %s is not one", s, text)
			}
		}
		if len(got) != len(want) || len(set.Texts) != len(want) || !set.All() {
			t.Errorf("%s: %d scenarios, %d different, %s in all; want %d", s, len(set.Texts),
				len(got), set.Total, len(want))
		}
	}
}

func TestDrawn(t *testing.T) {
	d := Description{Calls: 8, Limit: 100, Seed: 1}
	s := Size{3, 2, 1}
	set := d.Generate(s)
	slices.Sort(set.Texts)
	if n := len(slices.Compact(slices.Clone(set.Texts))); n != 100 || set.All() {
		t.Errorf("%d different scenarios, all: %v", n, set.All())
	}
	if set.Total.String() != "366080" { // 8 times the multisets of 3 of 64
		t.Errorf("%s in all", set.Total)
	}
	again := d.Generate(s)
	slices.Sort(again.Texts)
	if !slices.Equal(set.Texts, again.Texts) {
		t.Error("the same seed draws others")
	}
	d.Seed = 2
	other := d.Generate(s)
	slices.Sort(other.Texts)
	if slices.Equal(set.Texts, other.Texts) {
		t.Error("another seed draws the same")
	}
}

func TestSmaller(t *testing.T) {
	for text, want := range map[string][]string{
		"0:/1":         nil,
		"0:":           nil,
		"2:3/1":        {"2:/1"},
		"0:/1/1 2":     {"0:/1/2", "0:/1/1", "0:/1 2"},
		"1:7 12/5/6/8": {"1:7 12/5/6", "1:7 12/5/8", "1:7 12/6/8", "1:12/5/6/8", "1:7/5/6/8"},
	} {
		if got := (Description{}).Smaller(text); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	d := Description{Operations: "1,3,2"}
	want := []string{"0:4/1", "0:4/3", "0:/1/3", "0:4/1/1", "0:4/1/2"}
	if got := d.Smaller("0:4/1/3"); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := d.Smaller("0:/5"); !slices.Equal(got, []string{"0:/4"}) {
		t.Errorf("%q", got)
	}
}
