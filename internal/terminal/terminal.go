// Package terminal knows what the place that text goes to can show: how wide it is, and whether it
// has colors and characters beyond ASCII. Its escape sequences are the eight colors that every
// terminal has. For those and a table of twenty characters a library would be more to know than
// the package is.
package terminal

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// Page says how to write text for people. The zero value is plain text, 80 columns wide.
type Page struct {
	Width int // columns; 0 means 80
	Color bool
}

// The widths that a page can have: the one that is assumed, and the smallest that people get.
const (
	usual    = 80
	smallest = 40
)

// Columns returns the width of the page.
func (p Page) Columns() int {
	if p.Width == 0 {
		return usual
	}
	return p.Width
}

// A Color paints text.
type Color string

// The colors, as sequences of ECMA-48.
const (
	Plain  Color = ""
	Bold   Color = "\x1b[1m"
	Dim    Color = "\x1b[2m"
	Bad    Color = "\x1b[1;31m"
	Good   Color = "\x1b[1;32m"
	Unsure Color = "\x1b[1;33m"
	Value  Color = "\x1b[33m"
)

// end ends what is painted.
const end Color = "\x1b[0m"

// threads are the colors of threads.
var threads = []Color{"\x1b[1;36m", "\x1b[1;35m", "\x1b[1;34m", "\x1b[1;32m"}

// Thread returns the color of the i-th of several threads. Neighbors differ.
func Thread(i int) Color { return threads[i%len(threads)] }

// Sequence returns the length of the escape sequence that s begins with if it is one of this
// package, and 0 otherwise. All others can do something to a terminal.
func Sequence(s string) int {
	for _, c := range append([]Color{end, Bold, Dim, Bad, Good, Unsure, Value}, threads...) {
		if strings.HasPrefix(s, string(c)) {
			return len(c)
		}
	}
	return 0
}

// Paint returns s in a color, each of its lines by itself, so that they can be put side by side.
func (p Page) Paint(c Color, s string) string {
	if !p.Color || c == Plain {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if text := strings.TrimLeft(l, " "); text != "" {
			lines[i] = l[:len(l)-len(text)] + string(c) + text + string(end)
		}
	}
	return strings.Join(lines, "\n")
}

// When says whether to use colors; it is the value of a flag -color. The zero value is auto.
type When string

// Usage describes the flag.
const Usage = "use colors: `when` is auto (on a terminal, unless NO_COLOR is set), always or never"

// String returns the value as it is written.
func (w *When) String() string { return string(*w) }

// Set reads the value.
func (w *When) Set(s string) error {
	switch s {
	case "auto", "always", "never":
		*w = When(s)
		return nil
	}
	return errors.New("want auto, always or never")
}

// For returns the page for text that is written to w. Its width is $COLUMNS if that is a number,
// or else that of the terminal. In auto, colors are for terminals unless $NO_COLOR is set
// (https://no-color.org) or $TERM is dumb.
func For(w io.Writer, when When) Page {
	f, ok := file(w)
	p := Page{Color: when == "always"}
	if ok && term.IsTerminal(int(f.Fd())) {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			p.Width = max(n, smallest)
		}
		if when == "" || when == "auto" {
			p.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		}
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		p.Width = min(max(n, smallest), 1000)
	}
	return p
}

func file(w io.Writer) (*os.File, bool) {
	if a, ok := w.(*ascii); ok {
		w = a.w
	}
	f, ok := w.(*os.File)
	return f, ok
}

// Output returns f, or a writer to it that replaces the characters of tables and the like where f
// is a terminal whose character set is not UTF-8, by the locale.
func Output(f *os.File) io.Writer {
	if term.IsTerminal(int(f.Fd())) && !utf8Locale(os.Getenv) {
		return &ascii{w: f}
	}
	return f
}

// utf8Locale reports whether the locale's character set is UTF-8, or no locale is set, as in a
// container, whose terminal nobody asked.
func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := getenv(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}

// replace has what our own texts use beyond ASCII. What a program under test prints stays.
var replace = strings.NewReplacer("─", "-", "│", "|", "┼", "+", "├", "+", "┤", "+", "┬", "+", "┴",
	"+", "┌", "+", "┐", "+", "└", "+", "┘", "+", "…", "...", "·", ".", "→", "->", "×", "x", "–",
	"-", "µ", "u", "≤", "<=", "≥", ">=", "█", "#")

// ascii replaces characters.
type ascii struct {
	w    io.Writer
	rest []byte // the beginning of a character whose end was not written yet
}

// Write writes b. A character may come in pieces.
func (a *ascii) Write(b []byte) (int, error) {
	all := append(a.rest, b...)
	end := len(all)
	for i := 1; i < utf8.UTFMax && i <= len(all); i++ {
		if c := all[len(all)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(all[len(all)-i:]) {
				end -= i
			}
			break
		}
	}
	text := replace.Replace(string(all[:end]))
	a.rest = append([]byte(nil), all[end:]...)
	if _, err := io.WriteString(a.w, text); err != nil {
		return 0, err
	}
	return len(b), nil
}
