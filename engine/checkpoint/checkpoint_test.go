package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpor/testkit/sample"
)

type head struct{ Name string }

func write(t *testing.T, dir string, content []byte) *Dir {
	t.Helper()
	d, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	p, err := d.Begin(head{"x"}, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
	if err == nil {
		err = p.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func read(path string) (head, []byte, error) {
	var h head
	r, err := Open(path, &h)
	if err != nil {
		return h, nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	return h, b, err
}

// TestWriteRead writes contents of many sizes and reads them back.
func TestWriteRead(t *testing.T) {
	for _, size := range []int{0, 1, 1000, blockBytes - 20, blockBytes, 3*blockBytes + 5} {
		content := make([]byte, size)
		for i := range content {
			content[i] = byte(rand.Uint32())
		}
		dir := t.TempDir()
		write(t, dir, content)
		h, got, err := read(dir)
		if err != nil || h.Name != "x" || !bytes.Equal(got, content) {
			t.Errorf("%d bytes: %v, %v, %d bytes", size, err, h, len(got))
		}
	}
}

// TestDamage changes single bytes and cuts the file off everywhere: that is told,
// and nothing is given out that was not written.
func TestDamage(t *testing.T) {
	content := make([]byte, 2*blockBytes+100)
	for i := range content {
		content[i] = byte(i * i)
	}
	dir := t.TempDir()
	d := write(t, dir, content)
	whole, err := os.ReadFile(d.File())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "f")
	check := func(what string, b []byte) {
		t.Helper()
		if err := os.WriteFile(file, b, 0o666); err != nil {
			t.Fatal(err)
		}
		_, got, err := read(file)
		if err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: error %v", what, err)
		}
		if len(got) > len(content) || !bytes.Equal(got, content[:len(got)]) {
			t.Errorf("%s: something else was read", what)
		}
	}
	n := sample.Of(30, 37, 150)
	for i := range n {
		at := rand.IntN(len(whole))
		if i < 60 {
			at = i * len(whole) / 60
		}
		if i < 30 {
			at = i
		}
		b := bytes.Clone(whole)
		b[at] ^= 1 << rand.IntN(8)
		check("a changed bit", b)
		check("a cut", whole[:at])
	}
	check("something behind", append(bytes.Clone(whole), 0))
	// A block that is left out, and two that are exchanged.
	blocks := len(magic) + headerBytes + blockBytes
	check("a block less", append(bytes.Clone(whole[:len(magic)]), whole[blocks:]...))
}

// TestOldStays fails while a checkpoint is written: the one before it stays.
func TestOldStays(t *testing.T) {
	dir := t.TempDir()
	d := write(t, dir, []byte("old"))
	broken := errors.New("broken")
	_, err := d.Begin(head{"y"}, func(w io.Writer) error {
		w.Write(make([]byte, 2*blockBytes))
		return broken
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if h, got, err := read(dir); err != nil || string(got) != "old" || h.Name != "x" {
		t.Errorf("%v: %q of %v", err, got, h)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 { // and the lock
		t.Errorf("%v is left", entries)
	}
}

// TestForeign opens what is none.
func TestForeign(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	for content, want := range map[string]string{
		"":                                   "is not a cpor checkpoint",
		"model text, long enough for a head": "is not a cpor checkpoint",
		"cpor checkpoint, format 7\nxxxx":    "another version",
		magic:                                "ends too early",
	} {
		if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, _, err := read(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", content, err, want)
		}
	}
}

// TestLock opens a directory twice.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	d, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenDir(dir); err == nil || !strings.Contains(err.Error(), "another search") {
		t.Errorf("%v", err)
	}
	d.Close()
	if d, err = OpenDir(dir); err != nil {
		t.Fatal(err)
	}
	d.Close()
}

// TestParts writes the parts of several checkpoints: each is read as what it was, one that
// stands where another was to be is refused by name, and only those of one checkpoint are kept.
func TestParts(t *testing.T) {
	dir := t.TempDir()
	d, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for n := range 3 {
		for part := range 2 {
			err := WritePart(dir, n, part, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "part %d of %d", part, n)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := WritePart(dir, 1, 2, func(w io.Writer) error {
		return errors.New("broken")
	}); err == nil {
		t.Error("a part that could not be written is one")
	}
	if err := d.Keep(1); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 3 { // and the lock
		t.Errorf("%v is left", entries)
	}
	r, err := OpenPart(dir, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if r.Close(); err != nil || string(got) != "part 0 of 1" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := OpenPart(dir, 0, 0); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := os.Rename(partFile(dir, 1, 0), partFile(dir, 1, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenPart(dir, 1, 1); err == nil || !strings.Contains(err.Error(),
		"has part 0 of checkpoint 1") {
		t.Error(err)
	}
}
