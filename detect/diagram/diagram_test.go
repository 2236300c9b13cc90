package diagram

import (
	"bytes"
	"encoding/xml"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpor/detect/computation"
	"cpor/detect/simulate"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

func example() *computation.Computation {
	r := simulate.NewRecorder([]string{"p1", "p2", "p3"})
	r.Event(0, "a <local> & odd event")
	m := r.Send(0, "send")
	r.Event(1, "local")
	r.Receive(1, m, "receive")
	back := r.Send(1, "answer")
	r.Receive(0, back, "receive the answer")
	r.Receive(2, back, "receive it, too")
	return r.Computation()
}

func TestGolden(t *testing.T) {
	c := example()
	for name, opt := range map[string]Options{
		"plain": {},
		"cut":   {Title: "possibly: yes   p1.x && p2.x", Cut: computation.Cut{2, 2, 0}, Labels: []string{"x=1", "x=<2>", ""}},
		"order": {Title: "an observation", Order: c.Linearise(c.Initial(), c.Final())},
		"part":  {Cut: computation.Cut{2, 2, 0}, Columns: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var buf bytes.Buffer
			if err := Write(&buf, c, opt); err != nil {
				t.Fatal(err)
			}
			dec := xml.NewDecoder(bytes.NewReader(buf.Bytes()))
			for {
				if _, err := dec.Token(); err == io.EOF {
					break
				} else if err != nil {
					t.Fatalf("not XML: %v", err)
				}
			}
			path := filepath.Join("testdata", name+".svg")
			if *update {
				if err := os.WriteFile(path, buf.Bytes(), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), buf.String()); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestCutSeparates: events of the cut are left of its line, the others right of
// it, and no message goes backwards.
func TestCutSeparates(t *testing.T) {
	c := simulate.DatabasePartition(4, 30, 1)
	cut := c.Clock(1, 12).Clone()
	d := &drawing{c: c, opt: Options{Cut: cut, Columns: 1000}}
	d.place()
	for i := range c.N() {
		for k := int32(1); k <= c.Events(i); k++ {
			col := d.col[i][k-1]
			if (k <= cut[i]) != (col < d.cutAt) {
				t.Errorf("event %d of %s is in column %d, the cut before %d", k, c.Name(i), col, d.cutAt)
			}
			for _, m := range c.Messages(i, k) {
				if d.col[m.From.Process][m.From.Index-1] >= col {
					t.Errorf("message %v goes backwards", m)
				}
			}
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestErrors(t *testing.T) {
	if err := Write(brokenWriter{}, example(), Options{}); err != os.ErrClosed {
		t.Errorf("error %v", err)
	}
	var buf bytes.Buffer
	if err := Write(&buf, simulate.NewRecorder([]string{"p"}).Computation(), Options{Cut: computation.Cut{0}}); err != nil || !strings.Contains(buf.String(), "</svg>") {
		t.Errorf("a computation without events: %v", err)
	}
}
