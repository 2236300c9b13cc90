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

// logged is a search that keeps what it has noted.
type logged struct {
	t     *testing.T
	dir   *Dir
	mark  Mark
	noted []byte // all of it
	saved int    // how much is in the log
}

func newLogged(t *testing.T, dir string) *logged {
	t.Helper()
	d, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return &logged{t: t, dir: d}
}

// note notes some bytes.
func (l *logged) note(n int) {
	for range n {
		l.noted = append(l.noted, byte(len(l.noted)*len(l.noted)>>3))
	}
}

var errFill = errors.New("broken")

// begin writes a checkpoint; where is what fails: "log", "behind" it, or nothing.
func (l *logged) begin(where string) (*Pending, error) {
	return l.dir.Begin(head{"x"}, func(w io.Writer) error {
		m, err := Append(w, l.mark, func(w io.Writer, anew bool) error {
			from := l.saved
			if anew {
				from = 0
			}
			if _, err := w.Write(l.noted[from:]); err != nil {
				return err
			}
			if where == "log" {
				w.Write(make([]byte, 2*blockBytes))
				return errFill
			}
			return nil
		})
		if err != nil {
			return err
		}
		l.mark, l.saved = m, len(l.noted)
		if where == "behind" {
			return errFill
		}
		_, err = fmt.Fprint(w, len(l.noted))
		return err
	})
}

func (l *logged) save() {
	l.t.Helper()
	p, err := l.begin("")
	if err == nil {
		err = p.Commit()
	}
	if err == nil {
		err = p.Sweep()
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// readLogged reads a checkpoint, and says how it went.
func readLogged(dir string) (noted []byte, mark Mark, err error) {
	var h head
	r, err := Open(dir, &h)
	if err != nil {
		return nil, Mark{}, err
	}
	defer r.Close()
	mark, err = Appended(r, func(r io.Reader) (err error) {
		noted, err = io.ReadAll(r)
		return err
	})
	if err != nil {
		return noted, mark, err
	}
	rest, err := io.ReadAll(r)
	if err == nil && string(rest) != fmt.Sprint(len(noted)) {
		err = fmt.Errorf("%s bytes were noted, and %d read", rest, len(noted))
	}
	return noted, mark, err
}

func (l *logged) wantRead(dir string, want []byte) Mark {
	l.t.Helper()
	got, mark, err := readLogged(dir)
	if err != nil || !bytes.Equal(got, want) {
		l.t.Fatalf("%d bytes, want %d: %v", len(got), len(want), err)
	}
	return mark
}

func logsIn(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "states-*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestLogGrows writes checkpoints in turn. Each adds what is new to one log. Some fail, and the one
// before stays valid, as does its part of the log. A resumed search adds to the same log.
func TestLogGrows(t *testing.T) {
	dir := t.TempDir()
	l := newLogged(t, dir)
	r := rand.New(rand.NewPCG(1, 2))
	var good []byte // what the last good one has
	times := sample.Of(60, 60, 200)
	for i := range times {
		if r.IntN(5) > 0 {
			l.note(r.IntN(5000))
		}
		if r.IntN(40) == 0 {
			l.note(2 * blockBytes)
		}
		switch what := []string{"log", "behind", "", "", "killed", "given up"}[r.IntN(6)]; what {
		case "log", "behind":
			if _, err := l.begin(what); !errors.Is(err, errFill) {
				t.Fatal(err)
			}
		case "killed":
			// What was written is lost, or part of it is there, or more.
			p, err := l.begin("")
			if err != nil {
				t.Fatal(err)
			}
			p.file.Close()
			if p.log != nil {
				if r.IntN(2) == 0 {
					p.log.f.Write(make([]byte, r.IntN(3000)))
				}
				p.log.f.Close()
			}
			if good == nil {
				continue
			}
			l.mark, l.noted = l.wantRead(dir, good), bytes.Clone(good)
			l.saved = len(good)
		case "given up":
			p, err := l.begin("")
			if err != nil {
				t.Fatal(err)
			}
			p.GiveUp()
		default:
			l.save()
			good = bytes.Clone(l.noted)
			if n := len(logsIn(t, dir)); n > 1 {
				t.Fatalf("checkpoint %d: %d logs", i, n)
			}
		}
		if good != nil {
			l.wantRead(dir, good)
		}
	}
	size := int64(len(good))
	st, err := os.Stat(logsIn(t, dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	if st.Size() > size+size/10+100_000 {
		t.Errorf("a log of %d bytes for %d", st.Size(), size)
	}
	// In a copy of the directory, it continues as well.
	other := t.TempDir()
	if err := os.CopyFS(filepath.Join(other, "copy"), os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	c := newLogged(t, filepath.Join(other, "copy"))
	c.noted = bytes.Clone(good)
	c.mark, c.saved = c.wantRead(c.dir.path, good), len(good)
	c.note(100)
	c.save()
	c.wantRead(c.dir.path, c.noted)
	l.wantRead(dir, good)
	// Where the log is not, it begins a new one.
	d := newLogged(t, filepath.Join(other, "empty"))
	d.noted, d.mark, d.saved = c.noted, c.mark, c.saved
	d.save()
	d.wantRead(d.dir.path, c.noted)
}

// TestLogOfOther begins a search where the checkpoint of another one is: that one stays good
// until there is a new one, and its log goes with it.
func TestLogOfOther(t *testing.T) {
	dir := t.TempDir()
	a := newLogged(t, dir)
	a.note(1000)
	a.save()
	a.dir.Close()
	b := newLogged(t, dir)
	b.note(3000)
	if _, err := b.begin("behind"); !errors.Is(err, errFill) {
		t.Fatal(err)
	}
	if n := len(logsIn(t, dir)); n != 1 {
		t.Errorf("%d logs, after a new one failed", n)
	}
	p, err := b.begin("")
	if err != nil {
		t.Fatal(err)
	}
	a.wantRead(dir, a.noted)
	p.log.f.Close() // the system does not say that it is on the disk
	if err := p.Commit(); err == nil {
		t.Error("a log that was not synced counts")
	}
	a.wantRead(dir, a.noted)
	b.save()
	b.wantRead(dir, b.noted)
	if n := len(logsIn(t, dir)); n != 1 {
		t.Errorf("%d logs", n)
	}
	// What a search has left that was killed is removed by the next one, but not when it is not
	// known what is needed.
	stray := logFile(dir, 1)
	for _, damaged := range []bool{true, false} {
		if err := os.WriteFile(stray, []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
		was, err := os.ReadFile(b.dir.File())
		if err != nil {
			t.Fatal(err)
		}
		now := was
		if damaged {
			now = was[:len(was)-1]
		}
		if err := os.WriteFile(b.dir.File(), now, 0o666); err != nil {
			t.Fatal(err)
		}
		b.dir.Close()
		if b.dir, err = OpenDir(dir); err != nil {
			t.Fatal(err)
		}
		defer b.dir.Close()
		if _, err := os.Stat(stray); (err == nil) != damaged {
			t.Errorf("damaged: %v; %v", damaged, err)
		}
		if err := os.WriteFile(b.dir.File(), was, 0o666); err != nil {
			t.Fatal(err)
		}
		b.wantRead(dir, b.noted)
	}
	// Without a log none is left.
	write := func(io.Writer) error { return nil }
	if p, err = b.dir.Begin(head{"y"}, write); err == nil {
		err = errors.Join(p.Commit(), p.Sweep())
	}
	if n := len(logsIn(t, dir)); n != 0 || err != nil {
		t.Errorf("%d logs, %v", n, err)
	}
}

// TestLogUnsynced has a log of which the system does not say that it is on the disk: the next
// checkpoint begins a new one.
func TestLogUnsynced(t *testing.T) {
	dir := t.TempDir()
	l := newLogged(t, dir)
	l.note(100_000)
	l.save()
	l.note(50_000)
	good := l.mark
	p, err := l.begin("")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(p.log.f.Name(), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	p.log.f.Close()
	p.log.f = f
	p.log.undo() // as sync does then
	p.log = nil
	p.GiveUp()
	if st, err := os.Stat(f.Name()); err != nil || st.Size() != good.Length {
		t.Fatal(err, st.Size())
	}
	l.save()
	if l.mark.ID == good.ID {
		t.Error("it goes on with a log that may not be on the disk")
	}
	l.wantRead(dir, l.noted)
	if n := len(logsIn(t, dir)); n != 1 {
		t.Errorf("%d logs", n)
	}
}

// TestLogDamage damages logs in every way: it is told by the file's name, and nothing that was
// not written is given out.
func TestLogDamage(t *testing.T) {
	dir := t.TempDir()
	l := newLogged(t, dir)
	for range 3 {
		l.note(blockBytes + 5000)
		l.save()
	}
	other := newLogged(t, t.TempDir())
	other.note(len(l.noted))
	other.save()
	path := logsIn(t, dir)[0]
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := os.ReadFile(logsIn(t, other.dir.path)[0])
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, b []byte) {
		t.Helper()
		if b == nil {
			os.Remove(path)
		} else if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		got, _, err := readLogged(dir)
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", what, err)
		}
		if len(got) > len(l.noted) || !bytes.Equal(got, l.noted[:len(got)]) {
			t.Errorf("%s: something else was read", what)
		}
	}
	n := sample.Of(20, 25, 100)
	for i := range n {
		at := rand.IntN(len(whole))
		if i < 10 {
			at = i * 4
		}
		b := bytes.Clone(whole)
		b[at] ^= 1 << rand.IntN(8)
		check("a changed bit", b)
		check("a cut", whole[:at])
	}
	check("a missing log", nil)
	check("an empty log", []byte{})
	check("the log of another search", foreign)
	check("what another search has written", append(bytes.Clone(whole[:logHeader]),
		foreign[logHeader:]...))
	// A block of which all sums are right stands elsewhere in the log of the same search.
	second := logHeader + headerBytes + blockBytes
	third := second + headerBytes + blockBytes
	if len(whole) > third {
		b := bytes.Clone(whole[:logHeader])
		b = append(append(append(b, whole[second:third]...), whole[logHeader:second]...),
			whole[third:]...)
		check("exchanged blocks", b)
		check("a block less", append(bytes.Clone(whole[:logHeader]), whole[second:]...))
	}
	if err := os.WriteFile(path, append(bytes.Clone(whole), foreign...), 0o666); err != nil {
		t.Fatal(err)
	}
	l.wantRead(dir, l.noted) // what follows belongs to no checkpoint
}

// TestLogOfOlder reads an older log of the same search under the new one's name, with the same
// length.
func TestLogOfOlder(t *testing.T) {
	dir := t.TempDir()
	l := newLogged(t, dir)
	l.note(1000)
	l.save()
	first := l.mark
	l.note(500)
	l.save()
	l.mark, l.saved = first, 1000
	l.noted[1200]++
	p, err := l.begin("") // over what the checkpoint has
	if err != nil {
		t.Fatal(err)
	}
	p.GiveUp()
	if _, _, err := readLogged(dir); err == nil || !strings.Contains(err.Error(),
		"is not what the checkpoint names") {
		t.Error(err)
	}
}

// TestLogParts has logs beside parts: those that the parts of the kept checkpoint have stay.
func TestLogParts(t *testing.T) {
	dir := t.TempDir()
	d := newLogged(t, dir).dir
	marks := make([]Mark, 2)
	write := func(n, part int, anew bool) {
		t.Helper()
		if anew {
			marks[part] = Mark{}
		}
		err := WritePart(dir, n, part, func(w io.Writer) (err error) {
			marks[part], err = Append(w, marks[part], func(w io.Writer, _ bool) error {
				_, err := fmt.Fprintf(w, "%d of %d;", part, n)
				return err
			})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	read := func(n, part int) string {
		t.Helper()
		r, err := OpenPart(dir, n, part)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var got []byte
		if _, err = Appended(r, func(r io.Reader) (err error) {
			got, err = io.ReadAll(r)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return string(got)
	}
	for n := range 3 {
		write(n, 0, false)
		write(n, 1, n == 2)
	}
	if got := read(2, 0) + read(2, 1) + read(1, 1); got != "0 of 0;0 of 1;0 of 2;1 of 2;1 of 0;1 "+
		"of 1;" {
		t.Errorf("%q", got)
	}
	// The third one does not count.
	if err := d.Keep(1); err != nil {
		t.Fatal(err)
	}
	if n := len(logsIn(t, dir)); n != 2 {
		t.Errorf("%d logs", n)
	}
	if got := read(1, 0) + read(1, 1); got != "0 of 0;0 of 1;1 of 0;1 of 1;" {
		t.Errorf("%q", got)
	}
	write(3, 0, false)
	write(3, 1, false) // its log is gone: it begins a new one
	if err := d.Keep(3); err != nil {
		t.Fatal(err)
	}
	if got := read(3, 0) + read(3, 1); got != "0 of 0;0 of 1;0 of 2;0 of 3;1 of 3;" {
		t.Errorf("%q", got)
	}
	// Which logs a damaged part has is not known: none is removed.
	path := partFile(dir, 3, 1)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1]++
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := d.Keep(3); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
	if n := len(logsIn(t, dir)); n != 2 {
		t.Errorf("%d logs", n)
	}
}

// TestLogInside writes where there can be no log beside the checkpoint.
func TestLogInside(t *testing.T) {
	for _, size := range []int{0, 1, 100_000, 3 << 20} {
		content := make([]byte, size)
		for i := range content {
			content[i] = byte(rand.Uint32())
		}
		var b bytes.Buffer
		if m, err := Append(&b, Mark{ID: 3, Length: 70}, func(w io.Writer, anew bool) error {
			if !anew {
				t.Error("it goes on with a log that there is not")
			}
			_, err := w.Write(content)
			return err
		}); err != nil || m != (Mark{}) {
			t.Fatal(m, err)
		}
		b.WriteString("rest")
		whole := bytes.Clone(b.Bytes())
		var got []byte
		readIt := func(r io.Reader) (err error) {
			got, err = io.ReadAll(r)
			return err
		}
		if m, err := Appended(&b, readIt); err != nil || m != (Mark{}) ||
			!bytes.Equal(got, content) || b.String() != "rest" {
			t.Errorf("%d bytes: %v, %v, %d bytes, %q", size, m, err, len(got), b.String())
		}
		cut := rand.IntN(len(whole) - 4)
		if _, err := Appended(bytes.NewReader(whole[:cut]), readIt); err == nil {
			t.Errorf("%d of %d bytes are taken for all", cut, len(whole))
		}
	}
}

// FuzzRead reads checkpoints and logs that nobody has written: an error, and nothing worse.
func FuzzRead(f *testing.F) {
	dir := f.TempDir()
	d, err := OpenDir(dir)
	if err != nil {
		f.Fatal(err)
	}
	defer d.Close()
	var mark Mark
	p, err := d.Begin(head{"x"}, func(w io.Writer) (err error) {
		mark, err = Append(w, mark, func(w io.Writer, _ bool) error {
			_, err := io.WriteString(w, "states")
			return err
		})
		return err
	})
	if err == nil {
		err = p.Commit()
	}
	if err != nil {
		f.Fatal(err)
	}
	file, err := os.ReadFile(d.File())
	if err != nil {
		f.Fatal(err)
	}
	log, err := os.ReadFile(logFile(dir, mark.ID))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file, log)
	f.Fuzz(func(t *testing.T, file, log []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), file, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(logFile(dir, mark.ID), log, 0o666); err != nil {
			t.Fatal(err)
		}
		markOf(filepath.Join(dir, name))
		var h head
		r, err := Open(dir, &h)
		if err != nil {
			return
		}
		defer r.Close()
		Appended(r, func(r io.Reader) error {
			_, err := io.Copy(io.Discard, r)
			return err
		})
		io.Copy(io.Discard, r)
	})
}
