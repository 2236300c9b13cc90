package resolve_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cpor/model/resolve"
	"cpor/model/source"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// chunk is one model of a testdata file. Chunks are separated by lines that
// begin with ---; the word behind says what to put around the text:
//
//	---        nothing: it is a whole model
//	--- top    declarations: a thread and an init follow
//	--- body   statements of a thread
//
// -D NAME=VALUE behind that sets parameters. A comment // ERROR "regexp" in a
// line expects a message about this line; several regexps expect several. A
// line "// ERROR-FILE" expects a message without a position.
type chunk struct {
	name   string
	text   string
	line   int // of the text's first line in the file, minus 1
	before int // lines put before the text
	params map[string]string
}

func readChunks(t *testing.T, file string) []chunk {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []chunk
	cur := chunk{}
	kind := "" // of the current chunk
	var lines []string
	flush := func(next int) {
		text := strings.Join(lines, "\n") + "\n"
		if cur.line > 0 { // what stands before the first --- explains the file
			switch kind {
			case "body":
				cur.text, cur.before = "thread Body() {\n"+text+"}\ninit { go Body() }\n", 1
			case "top":
				cur.text = text + "thread Top() { skip }\ninit { go Top() }\n"
			default:
				cur.text = text
			}
			cur.name = fmt.Sprintf("%s:%d", filepath.Base(file), cur.line+1)
			list = append(list, cur)
		}
		cur, lines = chunk{line: next}, nil
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
				if cur.params == nil {
					cur.params = map[string]string{}
				}
				cur.params[name] = val
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
func (ch *chunk) expectations(t *testing.T) map[int][]*regexp.Regexp {
	want := map[int][]*regexp.Regexp{}
	for i, l := range strings.Split(ch.text, "\n") {
		m := errorComment.FindStringSubmatch(l)
		if m == nil {
			if strings.Contains(l, "// ERROR") {
				t.Fatalf("%s: bad ERROR comment %q", ch.name, l)
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

// check compares the messages about a chunk with what it expects.
func (ch *chunk) check(t *testing.T) {
	f := source.New(ch.name, ch.text)
	prog, err := resolve.Check(f, resolve.Options{Params: ch.params})
	want := ch.expectations(t)
	if err == nil {
		if prog == nil {
			t.Fatalf("%s: neither a program nor an error", ch.name)
		}
		for line, res := range want {
			t.Errorf("%s, line %d: no error, want %q", ch.name, line, res)
		}
		checkProgram(t, prog)
		return
	}
	var list *source.List
	if !errors.As(err, &list) {
		t.Fatalf("%s: the error is no list: %v", ch.name, err)
	}
	if prog != nil {
		t.Errorf("%s: a program and an error", ch.name)
	}
	for _, m := range list.Messages {
		line, _ := f.Position(m.Pos)
		found := false
		for i, re := range want[line] {
			if re.MatchString(m.Text) {
				want[line] = append(want[line][:i], want[line][i+1:]...)
				found = true
				break
			}
		}
		if !found {
			t.Errorf("%s: unexpected message:\n%s", ch.name, f.Render(m))
		}
	}
	for line, res := range want {
		for _, re := range res {
			t.Errorf("%s, line %d: no message matches %q", ch.name, line, re)
		}
	}
}

func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/*.model")
	if err != nil || len(files) == 0 {
		t.Fatal("no test files", err)
	}
	for _, file := range files {
		for _, ch := range readChunks(t, file) {
			t.Run(ch.name, func(t *testing.T) { ch.check(t) })
		}
	}
}
