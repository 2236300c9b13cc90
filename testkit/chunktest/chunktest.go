// Package chunktest reads the test files of the model language: many small
// models in one file, with the messages that are expected about them as
// comments, in the style of Starlark's tests.
package chunktest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cpor/frontend/source"
)

// Chunk is one model of a test file. Chunks are separated by lines that begin
// with ---; what is before the first one explains the file. The word behind
// the dashes says what to put around the text:
//
//	---        nothing: it is a whole model
//	--- top    declarations: a thread and an init follow
//	--- body   statements of a thread
//
// -D NAME=VALUE behind that sets parameters. A comment // ERROR "regexp" in a
// line expects a message about this line; several regexps expect several. A
// line "// ERROR-FILE" expects a message without a position.
type Chunk struct {
	Name   string // the file and the line where the chunk begins
	Text   string
	Params map[string]string // nil if there are none

	line int
}

// Read returns the chunks of a file.
func Read(t *testing.T, file string) []Chunk {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []Chunk
	cur := Chunk{}
	kind := "" // of the current chunk
	var lines []string
	flush := func(next int) {
		text := strings.Join(lines, "\n") + "\n"
		if cur.line > 0 { // what is before the first --- explains the file
			switch kind {
			case "body":
				cur.Text = "thread Body() {\n" + text + "}\ninit { go Body() }\n"
			case "top":
				cur.Text = text + "thread Top() { skip }\ninit { go Top() }\n"
			default:
				cur.Text = text
			}
			cur.Name = fmt.Sprintf("%s:%d", filepath.Base(file), cur.line+1)
			list = append(list, cur)
		}
		cur, lines = Chunk{line: next}, nil
	}
	for i, l := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		if !strings.HasPrefix(l, "---") {
			lines = append(lines, l)
			continue
		}
		flush(i + 1)
		f := strings.Fields(l[3:])
		kind = ""
		for j := 0; j < len(f); j++ {
			switch {
			case f[j] == "-D" && j+1 < len(f):
				name, val, _ := strings.Cut(f[j+1], "=")
				if cur.Params == nil {
					cur.Params = map[string]string{}
				}
				cur.Params[name] = val
				j++
			case j == 0 && (f[j] == "body" || f[j] == "top"):
				kind = f[j]
			default:
				t.Fatalf("%s:%d: bad chunk header %q", file, i+1, l)
			}
		}
	}
	flush(0)
	return list
}

var (
	errorComment = regexp.MustCompile(`// (ERROR|ERROR-FILE)((?: "(?:[^"\\]|\\.)*")+)\s*$`)
	quoted       = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
)

// expectations returns the regexps by line of the text; 0 is the whole file.
func (ch *Chunk) expectations(t *testing.T) map[int][]*regexp.Regexp {
	want := map[int][]*regexp.Regexp{}
	for i, l := range strings.Split(ch.Text, "\n") {
		m := errorComment.FindStringSubmatch(l)
		if m == nil {
			if strings.Contains(l, "// ERROR") {
				t.Fatalf("%s: bad ERROR comment %q", ch.Name, l)
			}
			continue
		}
		line := i + 1
		if m[1] == "ERROR-FILE" {
			line = 0
		}
		for _, q := range quoted.FindAllString(m[2], -1) {
			q = strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
			want[line] = append(want[line], regexp.MustCompile(q))
		}
	}
	return want
}

// Check compares the error from checking a chunk, nil or a *[source.List] about a file with the
// chunk's text, with the chunk's expectations.
func (ch *Chunk) Check(t *testing.T, f *source.File, err error) {
	t.Helper()
	want := ch.expectations(t)
	var list *source.List
	if err != nil {
		if !errors.As(err, &list) {
			t.Fatalf("%s: the error is not a list of messages: %v", ch.Name, err)
		}
		for _, m := range list.Messages {
			line, _ := f.Position(m.Pos)
			i := slices.IndexFunc(want[line], func(re *regexp.Regexp) bool {
				return re.MatchString(m.Text)
			})
			if i < 0 {
				t.Errorf("%s: unexpected message:\n%s", ch.Name, f.Render(m))
				continue
			}
			want[line] = slices.Delete(want[line], i, i+1)
		}
	}
	for line, res := range want {
		for _, re := range res {
			t.Errorf("%s, line %d: no message matches %q", ch.Name, line, re)
		}
	}
}
