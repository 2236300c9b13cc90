package main

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	mostColumns = 100
	tabColumns  = 4
)

// goFiles calls f with each Go file of the repository.
func goFiles(f func(path string) error) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == "testdata", d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root:
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		return f(path)
	})
}

// TestColumns holds the lines of Go files to 100 columns, where a tab is 4. Longer are only
// generated files, lines with a part of a raw string, directives, comments of one word, and in
// tests lines that a string makes long.
func TestColumns(t *testing.T) {
	err := goFiles(func(path string) error {
		text, err := os.ReadFile(path)
		if err != nil || strings.HasPrefix(string(text), "// Code generated ") {
			return err
		}
		strict := !strings.HasSuffix(path, "_test.go")
		free := longStrings(text, strict)
		for i, line := range strings.Split(string(text), "\n") {
			if n := columns(line); n > mostColumns && !free[i+1] && canBreak(line) {
				t.Errorf("%s:%d: %d columns; break the line before column %d", path, i+1, n,
					mostColumns)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// columns returns the width of a line.
func columns(line string) int {
	return utf8.RuneCountInString(line) + (tabColumns-1)*strings.Count(line, "\t")
}

// canBreak reports whether a line is more than a directive or a comment of one word.
func canBreak(line string) bool {
	comment, ok := strings.CutPrefix(strings.TrimSpace(line), "//")
	return !ok || strings.HasPrefix(comment, " ") && len(strings.Fields(comment)) > 1
}

// longStrings returns the lines on which a part of a raw string stands and, unless strict is set,
// those with a string of more than half a line.
func longStrings(text []byte, strict bool) map[int]bool {
	lines := map[int]bool{}
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	for {
		pos, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return lines
		case tok != token.STRING:
		case lit[0] == '`':
			for n := range strings.Count(lit, "\n") + 1 {
				lines[file.Line(pos)+n] = true
			}
		case !strict && len(lit) > mostColumns/2:
			lines[file.Line(pos)] = true
		}
	}
}
