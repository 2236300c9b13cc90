package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPosition(t *testing.T) {
	f := New("f", "ab\n\nä\tc\r\nlast")
	tests := []struct {
		pos       Pos
		line, col int
	}{
		{0, 1, 1}, {1, 1, 2}, {2, 1, 3}, {3, 2, 1}, {4, 3, 1}, {6, 3, 3}, {8, 3, 5}, {10, 4, 1},
		{14, 4, 5},
		{99, 4, 5}, {NoPos, 0, 0},
	}
	for _, test := range tests {
		if line, col := f.Position(test.pos); line != test.line || col != test.col {
			t.Errorf("Position(%d) = %d:%d, want %d:%d", test.pos, line, col, test.line, test.col)
		}
	}
	for n, want := range map[int]string{0: "", 1: "ab", 2: "", 3: "ä\tc", 4: "last", 5: ""} {
		if got := f.Line(n); got != want {
			t.Errorf("Line(%d) = %q, want %q", n, got, want)
		}
	}
	if f.NumLines() != 4 {
		t.Errorf("NumLines = %d", f.NumLines())
	}
	if got := f.At(NoPos) + " " + f.At(3); got != "f f:2:1" {
		t.Errorf("At = %q", got)
	}
	empty := New("f", "")
	if line, col := empty.Position(0); line != 1 || col != 1 {
		t.Errorf("Position in an empty file = %d:%d", line, col)
	}
}

func TestList(t *testing.T) {
	f := New("f.model", "abc def\n\tghi\n")
	l := &List{File: f}
	if l.Err() != nil {
		t.Error("an empty list is an error")
	}
	l.Add(9, 12, "second").Note(0, "see %s", "abc")
	l.Add(4, 7, "first")
	l.Add(4, 7, "first")
	l.Add(4, NoPos, "also")
	l.Add(NoPos, NoPos, "the file").Note(NoPos, "why")
	got := l.Err().Error()
	want := `f.model: the file
	note: why
f.model:1:5: first
	abc def
	    ^~~
f.model:1:5: also
	abc def
	    ^
f.model:2:2: second
		ghi
		^~~
	f.model:1:1: note: see abc`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if r := f.Render(l.Messages[1]); !strings.HasPrefix(r, "f.model:1:5: first\n") {
		t.Errorf("Render = %q", r)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return name
	}
	f, err := Read(write("ok.model", "\ufeffvar x int\n"))
	if err != nil || f.Text != "var x int\n" {
		t.Errorf("Read: %q, %v", f.Text, err)
	}
	for name, want := range map[string]string{
		filepath.Join(dir, "missing"): "no such file",
		dir:                           "is a directory",
		write("huge.model", strings.Repeat(" ", MaxSize+1)): "is larger than 16 MiB",
	} {
		_, err := Read(name)
		if err == nil || !strings.HasPrefix(err.Error(), name+": ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("Read(%s): %v, want %q", name, err, want)
		}
	}
}

// TestJoin holds places in joined files to those in the files themselves.
func TestJoin(t *testing.T) {
	files := []*File{New("a", "one\ntwo"), New("b", ""), New("c", "x\n\ny\n")}
	f := Join(files)
	var bounds []Pos
	i := 0
	f.Parts(func(from, to Pos) {
		part := files[i]
		if got := f.Text[from:to]; got != part.Text {
			t.Errorf("part %d is %q, want %q", i, got, part.Text)
		}
		for p := from; p <= to; p++ {
			name, line, col := f.Place(p)
			if wl, wc := part.Position(p - from); name != part.Name || line != wl || col != wc {
				t.Errorf("place of %d: %s:%d:%d, want %s:%d:%d", p, name, line, col, part.Name, wl,
					wc)
			}
			if got, begin := f.Part(p); got != part || begin != from {
				t.Errorf("part of %d: %s from %d", p, got.Name, begin)
			}
		}
		bounds = append(bounds, from, to)
		i++
	})
	if len(bounds) != 6 || int(bounds[5])+1 != len(f.Text) {
		t.Errorf("bounds %v in %d bytes", bounds, len(f.Text))
	}
	if one := Join(files[:1]); one != files[0] {
		t.Error("a single file is not itself")
	}
	if name, line, col := f.Place(NoPos); name != "a" || line != 0 || col != 0 {
		t.Errorf("the place of nothing is %s:%d:%d", name, line, col)
	}
	want := "c:3:1: wrong\n\ty\n\t^"
	if got := f.Render(&Message{Pos: bounds[4] + 3, End: bounds[4] + 4,
		Text: "wrong"}); got != want {
		t.Errorf("rendered %q, want %q", got, want)
	}
}
