package page

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var importLine = regexp.MustCompile(`(?m)^(?:import|export)\b[^;]*?["']([^"']+)["'];`)

// scriptImports returns which scripts each script imports.
func scriptImports(files fs.FS) (map[string][]string, error) {
	names, err := fs.Glob(files, "*.js")
	if err != nil {
		return nil, err
	}
	imports := map[string][]string{}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		imports[name] = nil
		for _, m := range importLine.FindAllStringSubmatch(string(text), -1) {
			imports[name] = append(imports[name], path.Clean(m[1]))
		}
	}
	return imports, nil
}

// circle returns a circle of imports below a script, or nil, and notes in done what it has seen.
func circle(imports map[string][]string, name string, way []string, done map[string]bool) []string {
	if i := slices.Index(way, name); i >= 0 {
		return append(slices.Clone(way[i:]), name)
	}
	if done[name] {
		return nil
	}
	done[name] = true
	for _, to := range imports[name] {
		if c := circle(imports, to, append(way, name), done); c != nil {
			return c
		}
	}
	return nil
}

// TestScriptsImportDownwards: no script of the page imports itself by way of others, each
// import exists, and main.js, which nobody imports, needs all.
func TestScriptsImportDownwards(t *testing.T) {
	files, err := fs.Sub(static, "static")
	if err != nil {
		t.Fatal(err)
	}
	imports, err := scriptImports(files)
	if err != nil {
		t.Fatal(err)
	}
	done := map[string]bool{}
	if c := circle(imports, "main.js", nil, done); c != nil {
		t.Errorf("a circle of imports: %s", strings.Join(c, " -> "))
	}
	for name, to := range imports {
		if !done[name] {
			t.Errorf("main.js does not need %s", name)
		}
		for _, x := range to {
			if _, ok := imports[x]; !ok {
				t.Errorf("%s imports %s, which does not exist", name, x)
			}
			if x == "main.js" {
				t.Errorf("%s imports main.js", name)
			}
		}
	}
}

func TestCircle(t *testing.T) {
	imports := map[string][]string{"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": nil}
	if c := circle(imports, "a", nil, map[string]bool{}); c != nil {
		t.Errorf("%v is not a circle", c)
	}
	imports["d"] = []string{"b"}
	if c := circle(imports, "a", nil, map[string]bool{}); fmt.Sprint(c) != "[b d b]" {
		t.Errorf("the circle is %v", c)
	}
	text := "import { a,\n  b } from \"./x.js\";\nexport function f() {}\n" +
		"import \"./y.js\";\nexport { c } from './z.js';\n"
	var got []string
	for _, m := range importLine.FindAllStringSubmatch(text, -1) {
		got = append(got, m[1])
	}
	if fmt.Sprint(got) != "[./x.js ./y.js ./z.js]" {
		t.Errorf("the imports are %v", got)
	}
}
