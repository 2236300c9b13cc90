package terminal

import (
	"bytes"
	"testing"
)

func TestPaint(t *testing.T) {
	p := Page{Color: true}
	const want = "\x1b[1;31ma\x1b[0m\n  \x1b[1;31mb\x1b[0m\n"
	if got := p.Paint(Bad, "a\n  b\n"); got != want {
		t.Errorf("%q", got)
	}
	if got := (Page{}).Paint(Bad, "a"); got != "a" || p.Paint(Plain, "a") != "a" {
		t.Errorf("%q", got)
	}
}

// TestFor: what is not a terminal gets colors only if it must, and its width from COLUMNS.
func TestFor(t *testing.T) {
	for _, tt := range []struct {
		columns string
		when    When
		want    Page
	}{
		{"", "", Page{}}, {"", "auto", Page{}}, {"", "never", Page{}},
		{"", "always", Page{Color: true}}, {"100", "auto", Page{Width: 100}},
		{"3", "", Page{Width: smallest}}, {"many", "", Page{}}, {"-5", "", Page{}},
	} {
		t.Setenv("COLUMNS", tt.columns)
		if got := For(new(bytes.Buffer), tt.when); got != tt.want {
			t.Errorf("%+v: %+v", tt, got)
		}
	}
	var w When
	if err := w.Set("often"); err == nil {
		t.Error("-color often is accepted")
	}
}

func TestLocale(t *testing.T) {
	for _, tt := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, true},
		{map[string]string{"LANG": "C"}, false},
		{map[string]string{"LANG": "de_DE.UTF-8"}, true},
		{map[string]string{"LANG": "C.utf8", "LC_ALL": "POSIX"}, false},
		{map[string]string{"LANG": "ja_JP.eucJP", "LC_CTYPE": "C.UTF-8"}, true},
	} {
		if got := utf8Locale(func(name string) string { return tt.env[name] }); got != tt.want {
			t.Errorf("%v: %v", tt.env, got)
		}
	}
}

// TestASCII writes byte by byte, too: characters come in pieces.
func TestASCII(t *testing.T) {
	const text = "a │ b\n──┼──\nñ … 10µs"
	const want = "a | b\n--+--\nñ ... 10us"
	for _, size := range []int{1, 2, 3, len(text)} {
		var b bytes.Buffer
		w := &ascii{w: &b}
		for rest := []byte(text); len(rest) > 0; {
			n := min(size, len(rest))
			if got, err := w.Write(rest[:n]); got != n || err != nil {
				t.Fatal(got, err)
			}
			rest = rest[n:]
		}
		if b.String() != want {
			t.Errorf("in pieces of %d: %q", size, b.String())
		}
	}
}

func TestSequence(t *testing.T) {
	for s, want := range map[string]int{
		string(Bad): len(Bad), string(Thread(5)) + "x": len(Thread(5)), "\x1b[0mx": 4,
		"\x1b[2J": 0, "\x1b]0;title\a": 0, "x": 0, "": 0,
	} {
		if got := Sequence(s); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
}
