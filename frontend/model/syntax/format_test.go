package syntax_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"cpor/frontend/model/syntax"
	"cpor/frontend/source"
	"cpor/testkit/chunktest"
)

const root = "../../.."

// modelFiles returns all models of the repository.
func modelFiles(t *testing.T) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".model" && !strings.Contains(path, "testdata") {
			list = append(list, path)
		}
		return err
	})
	if err != nil || len(list) < 40 {
		t.Fatalf("%d models, %v", len(list), err)
	}
	return list
}

// TestFormatted: the models of the repository are formatted. With -update those that are
// not are.
func TestFormatted(t *testing.T) {
	for _, name := range modelFiles(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got := checkFormat(t, name, string(text))
		if got == "" || got == string(text) {
			continue
		}
		if *update {
			if err := os.WriteFile(name, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		t.Errorf("%s is not formatted: cpor fmt -w %s (- is, + should be)\n%s", name, name,
			cmp.Diff(strings.Split(string(text), "\n"), strings.Split(got, "\n")))
	}
}

// checkFormat formats a text and returns the result, "" if the text has errors: it has the
// same tree and the same comments, and formatted again it stays as it is.
func checkFormat(t *testing.T, name, text string) string {
	t.Helper()
	before, err := syntax.Parse(source.New(name, text))
	got, formatErr := syntax.Format(source.New(name, text))
	if (err == nil) != (formatErr == nil) {
		t.Errorf("%s: Parse says %v, Format %v", name, err, formatErr)
	}
	if err != nil || formatErr != nil {
		return ""
	}
	after, err := syntax.Parse(source.New(name, got))
	if err != nil {
		t.Errorf("%s: what was formatted has errors: %v\n%s", name, err, got)
		return ""
	}
	if diff := cmp.Diff(withoutEmpty(before), withoutEmpty(after),
		cmpopts.IgnoreTypes(syntax.Span{}, source.Pos(0)), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: another tree (- before, + formatted)\n%s\n%s", name, diff, got)
	}
	if a, b := squeezed(text), squeezed(got); a != b {
		t.Errorf("%s: more or less than blanks has changed\n%s", name, cmp.Diff(a, b))
	}
	again, err := syntax.Format(source.New(name, got))
	if err != nil || again != got {
		t.Errorf("%s: formatted again it differs: %v (- once, + twice)\n%s", name, err,
			cmp.Diff(strings.Split(got, "\n"), strings.Split(again, "\n")))
	}
	return got
}

// withoutEmpty takes the empty statements out of the lists of statements of a file:
// semicolons that formatting takes out.
func withoutEmpty(f *syntax.File) []syntax.Decl {
	for _, d := range f.Decls {
		syntax.Walk(d, func(n syntax.Node) bool {
			var list *[]syntax.Stmt
			switch n := n.(type) {
			case *syntax.Block:
				list = &n.Stmts
			case *syntax.SwitchCase:
				list = &n.Body
			case *syntax.SelectCase:
				list = &n.Body
			case *syntax.ChooseCase:
				list = &n.Body
			default:
				return true
			}
			*list = slices.DeleteFunc(*list, func(s syntax.Stmt) bool {
				_, ok := s.(*syntax.EmptyStmt)
				return ok
			})
			return true
		})
	}
	return f.Decls
}

// TestFormatUntidy: whatever a text's blanks are, it is laid out the same.
func TestFormatUntidy(t *testing.T) {
	for _, name := range modelFiles(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for what, untidy := range map[string]func(line string) string{
			"without indentation": func(l string) string { return strings.TrimLeft(l, " \t") },
			"indented":            func(l string) string { return " \t  " + l },
			"with carriage returns": func(l string) string {
				return l + "\r"
			},
			"with wide gaps": func(l string) string {
				if strings.Contains(l, `"`) || strings.Contains(l, "//") {
					return l
				}
				return strings.ReplaceAll(l, " ", "  \t ")
			},
			"with semicolons": func(l string) string {
				if strings.HasSuffix(l, ")") && !strings.Contains(l, "//") ||
					strings.HasSuffix(l, "++") {
					return l + " ; "
				}
				return l
			},
		} {
			lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
			for i := range lines {
				lines[i] = untidy(lines[i])
			}
			got, err := syntax.Format(source.New(name, strings.Join(lines, "\n")))
			if err != nil || got != string(text) {
				t.Errorf("%s %s: %v (- the file, + formatted)\n%s", name, what, err,
					cmp.Diff(strings.Split(string(text), "\n"), strings.Split(got, "\n")))
			}
		}
	}
}

// TestFormatLayout has what the models of the repository do not have.
func TestFormatLayout(t *testing.T) {
	text, err := os.ReadFile("testdata/untidy.model")
	if err != nil {
		t.Fatal(err)
	}
	got := checkFormat(t, "untidy.model", string(text))
	if got == "" {
		t.Fatal("the text has errors")
	}
	golden(t, "testdata/tidy.golden", got)
}

// FuzzFormat looks for texts that formatting breaks.
func FuzzFormat(f *testing.F) {
	files, _ := filepath.Glob(root + "/examples/*.model")
	more, _ := filepath.Glob("testdata/*.model")
	for _, name := range append(files, more...) {
		if data, err := os.ReadFile(name); err == nil {
			f.Add(string(data))
		}
	}
	f.Fuzz(func(t *testing.T, text string) { checkFormat(t, "fuzz.model", text) })
}

// squeezed returns a text without white space and semicolons: what no formatter may
// change, comments included.
func squeezed(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\r\n\v\f;", r) {
			return -1
		}
		return r
	}, text)
}

// TestFormatExamples formats what is right in the chunks of the tests and in the examples
// of the documentation, which are formatted already. With -update those that are not are.
func TestFormatExamples(t *testing.T) {
	n := 0
	for _, pattern := range []string{"../testdata/*.models", "../resolve/testdata/*.model",
		"testdata/*.model"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			for _, ch := range chunktest.Read(t, file) {
				if checkFormat(t, ch.Name, ch.Text) != "" {
					n++
				}
			}
		}
	}
	pages, err := filepath.Glob(root + "/docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		now := string(data)
		for _, ex := range chunktest.Examples(t, page) {
			text, got := ex.Text, ""
			switch ex.Kind {
			case "promela":
				continue
			case "model-fragment":
				const head, tail = "thread T() {\n", "}\n"
				got = checkFormat(t, page, head+text+tail)
				got = strings.TrimSuffix(strings.TrimPrefix(got, head), tail)
				got = strings.ReplaceAll("\n"+got, "\n\t", "\n")[1:]
			default:
				got = checkFormat(t, page, text)
			}
			if got == "" {
				continue
			}
			n++
			now = strings.Replace(now, text, got, 1)
			if got != text && !*update {
				t.Errorf("%s:%d is not formatted (- is, + should be)\n%s", page, ex.Line,
					cmp.Diff(strings.Split(text, "\n"), strings.Split(got, "\n")))
			}
		}
		if *update && now != string(data) {
			if err := os.WriteFile(page, []byte(now), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n < 150 {
		t.Errorf("only %d texts", n)
	}
}
