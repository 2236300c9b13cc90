// Package source holds the text of model files, positions in them, and messages about them:
// file:line:col, the source line, and a caret under the place. (The form is that of esbuild and the
// Go compiler. It is written here because it is a page of code, and every library for it comes with
// a parser.)
//
// A [File] is a name and a text. A [Pos] is a byte offset in the text, so positions cost one word,
// and [File.Position] computes lines and columns only for the few that are printed. Packages that
// check a file collect their messages in a [List], which is an error: its text is what the user
// reads.
package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"
)

// Pos is a byte offset in a File; -1 means none.
type Pos int

// NoPos is the position of nothing.
const NoPos Pos = -1

// MaxSize is the largest text, in bytes, that is accepted as a model file. It is
// far above every model written by hand, and small enough for the memory of the
// syntax tree to be no problem.
const MaxSize = 16 << 20

// File is a model file: its name as it is shown, and its text.
type File struct {
	Name string
	Text string

	once  sync.Once
	lines []Pos // the first byte of each line
	parts []*File
	ends  []Pos // of the parts, each with the newline that Join added
}

// Join returns a file that concatenates these. The first one gives it its name, and places in it
// are places in the parts. A single file is returned as it is.
func Join(files []*File) *File {
	if len(files) == 1 {
		return files[0]
	}
	var text strings.Builder
	f := &File{Name: files[0].Name, parts: files}
	for _, part := range files {
		text.WriteString(part.Text)
		text.WriteByte('\n')
		f.ends = append(f.ends, Pos(text.Len()))
	}
	f.Text = text.String()
	return f
}

// Parts calls do with the bounds of each of the joined files, the newlines that Join has
// put between them left out; with those of the whole text if there is but one.
func (f *File) Parts(do func(from, to Pos)) {
	if f.parts == nil {
		do(0, Pos(len(f.Text)))
		return
	}
	from := Pos(0)
	for _, end := range f.ends {
		do(from, end-1)
		from = end
	}
}

// Part returns the file that p is in, if several were joined, and where its text begins.
func (f *File) Part(p Pos) (part *File, begin Pos) {
	if f.parts == nil {
		return f, 0
	}
	i := min(sort.Search(len(f.ends), func(i int) bool { return f.ends[i] > p }), len(f.ends)-1)
	if p < 0 {
		i = 0
	}
	if i > 0 {
		begin = f.ends[i-1]
	}
	return f.parts[i], begin
}

// New returns a file with the name and the text. A byte order mark is not part of the text.
func New(name, text string) *File {
	return &File{Name: name, Text: strings.TrimPrefix(text, "\ufeff")}
}

// Read reads a file from the disk. The error tells the user what is wrong: the file is missing, a
// directory, unreadable, or larger than [MaxSize].
func Read(name string) (*File, error) {
	f, err := os.Open(name)
	if err != nil {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%s: no such file", name)
		case errors.Is(err, fs.ErrPermission):
			return nil, fmt.Errorf("%s: no permission to read it", name)
		}
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return nil, fmt.Errorf("%s: is a directory, not a model file", name)
	}
	return ReadFrom(name, f)
}

// ReadFrom reads a file from r; messages contain name. The errors are those of [Read].
func ReadFrom(name string, r io.Reader) (*File, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(text) > MaxSize {
		return nil, fmt.Errorf("%s: is larger than %d MiB, the limit for model files", name,
			MaxSize>>20)
	}
	return New(name, string(text)), nil
}

// table returns the offsets of the first bytes of the lines.
func (f *File) table() []Pos {
	f.once.Do(func() {
		f.lines = append(f.lines, 0)
		for i := 0; i < len(f.Text); i++ {
			if f.Text[i] == '\n' {
				f.lines = append(f.lines, Pos(i+1))
			}
		}
	})
	return f.lines
}

// Place returns the name of the file that p is in, the line and the column, both counted
// from 1; the column counts bytes, as Go's tools do. Both are 0 for NoPos.
func (f *File) Place(p Pos) (name string, line, col int) {
	part, _ := f.Part(p)
	line, col = f.Position(p)
	return part.Name, line, col
}

// Position returns the line and the column of p in the file that it is in ([File.Place]).
func (f *File) Position(p Pos) (line, col int) {
	if p < 0 {
		return 0, 0
	}
	if part, begin := f.Part(p); part != f {
		return part.Position(p - begin)
	}
	if int(p) > len(f.Text) {
		p = Pos(len(f.Text))
	}
	t := f.table()
	line = sort.Search(len(t), func(i int) bool { return t[i] > p })
	return line, int(p-t[line-1]) + 1
}

// At returns "name:line:col", or the name alone for NoPos.
func (f *File) At(p Pos) string {
	if p < 0 {
		return f.Name
	}
	name, line, col := f.Place(p)
	return fmt.Sprintf("%s:%d:%d", name, line, col)
}

// Line returns the text of a line, counted from 1, without its line ending; "" if there is no such
// line.
func (f *File) Line(n int) string {
	t := f.table()
	if n < 1 || n > len(t) {
		return ""
	}
	end := len(f.Text)
	if n < len(t) {
		end = int(t[n]) - 1
	}
	return strings.TrimSuffix(f.Text[t[n-1]:end], "\r")
}

// NumLines returns the number of lines.
func (f *File) NumLines() int { return len(f.table()) }

// Message is one thing that is wrong with a file.
type Message struct {
	Pos   Pos // NoPos if it concerns no place in the file
	End   Pos // the byte after the place, for the underline; NoPos or Pos for a caret alone
	Text  string
	Notes []Note
}

// Note is a remark that belongs to a message, such as the place of another
// declaration.
type Note struct {
	Pos  Pos // NoPos if it concerns no place
	Text string
}

// Note adds a remark to the message.
func (m *Message) Note(pos Pos, format string, args ...any) {
	m.Notes = append(m.Notes, Note{Pos: pos, Text: fmt.Sprintf(format, args...)})
}

// Shown is the number of messages that [List.Error] prints; of further ones it
// gives only the number.
const Shown = 10

// List collects the messages about one file. It is an error; ask [List.Err] for
// it, which is nil for an empty list.
type List struct {
	File     *File
	Messages []*Message
}

// Add appends a message about the text from pos to end.
func (l *List) Add(pos, end Pos, format string, args ...any) *Message {
	m := &Message{Pos: pos, End: end, Text: fmt.Sprintf(format, args...)}
	l.Messages = append(l.Messages, m)
	return m
}

// Len returns the number of messages.
func (l *List) Len() int { return len(l.Messages) }

// Err sorts the messages by position, drops repeated ones, and returns the list
// as an error, or nil if it is empty.
func (l *List) Err() error {
	if len(l.Messages) == 0 {
		return nil
	}
	slices.SortStableFunc(l.Messages, func(a, b *Message) int { return int(a.Pos) - int(b.Pos) })
	l.Messages = slices.CompactFunc(l.Messages, func(a, b *Message) bool {
		return a.Pos == b.Pos && a.Text == b.Text
	})
	return l
}

// Error renders the messages, each with its source line and a caret under the
// place, without a final newline.
func (l *List) Error() string {
	var b strings.Builder
	for i, m := range l.Messages {
		if i == Shown {
			fmt.Fprintf(&b, "%s: and %d more\n", l.File.Name, len(l.Messages)-Shown)
			break
		}
		l.File.render(&b, m)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Render returns the message as the user sees it, without a final newline.
func (f *File) Render(m *Message) string {
	var b strings.Builder
	f.render(&b, m)
	return strings.TrimSuffix(b.String(), "\n")
}

func (f *File) render(b *strings.Builder, m *Message) {
	fmt.Fprintf(b, "%s: %s\n", f.At(m.Pos), m.Text)
	f.excerpt(b, m.Pos, m.End)
	for _, n := range m.Notes {
		if n.Pos == NoPos {
			fmt.Fprintf(b, "\tnote: %s\n", n.Text)
		} else {
			fmt.Fprintf(b, "\t%s: note: %s\n", f.At(n.Pos), n.Text)
		}
	}
}

// window is the longest part of a source line, in runes, that is shown.
const window = 120

// excerpt prints the line of pos, and a line with a caret under pos and tildes
// up to end. Tabs before the caret stay tabs, so that it stands right whatever
// their width. A long line is cut around the place.
func (f *File) excerpt(b *strings.Builder, pos, end Pos) {
	if pos < 0 || f.Text == "" {
		return
	}
	n, col := f.Position(pos)
	part, _ := f.Part(pos)
	line := part.Line(n)
	at := min(col-1, len(line)) // the place is after the line if it is the newline
	to := at
	if end > pos {
		to = min(at+int(end-pos), len(line))
	}
	before, mark, after := []rune(clean(line[:at])), []rune(clean(line[at:to])),
		[]rune(clean(line[to:]))
	if len(before)+len(mark)+len(after) > window {
		if len(mark) > window/3 {
			mark, after = append(slices.Clip(mark[:window/3]), '…'), nil
		}
		if len(before) > window/2 {
			before = append([]rune("…"), before[len(before)-window/2:]...)
		}
		if rest := max(window-len(before)-len(mark), 0); len(after) > rest {
			after = append(slices.Clip(after[:rest]), '…')
		}
	}
	fmt.Fprintf(b, "\t%s%s%s\n\t", string(before), string(mark), string(after))
	for _, r := range before {
		if r != '\t' {
			r = ' '
		}
		b.WriteRune(r)
	}
	b.WriteByte('^')
	if len(mark) > 1 {
		b.WriteString(strings.Repeat("~", len(mark)-1))
	}
	b.WriteByte('\n')
}

// clean makes a text printable on a terminal: control characters and bytes that
// are not UTF-8 become the replacement character.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && (r < ' ' || r == 0x7f || 0x80 <= r && r < 0xa0) {
			return utf8.RuneError
		}
		return r
	}, s)
}
