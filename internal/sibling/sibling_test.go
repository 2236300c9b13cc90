package sibling

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPath(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if _, err := Path("cpor-other"); err == nil || !strings.Contains(err.Error(), "go install") {
		t.Errorf("a program that is not there: %v", err)
	}
	file := filepath.Join(dir, "cpor-other.exe")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := Path("cpor-other.exe"); err != nil || got != file {
		t.Errorf("on the PATH: %s, %v, want %s", got, err, file)
	}
}
