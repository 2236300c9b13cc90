package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// sample returns files like those of a release for a platform.
func sample(goos string) []file {
	exe := ""
	if goos == "windows" {
		exe = ".exe"
	}
	var files []file
	for _, p := range programs {
		files = append(files, file{name: p + exe, text: []byte("program " + p), program: true})
	}
	for _, p := range places {
		files = append(files, file{name: p.name, text: []byte("text of " + p.name)})
	}
	return files
}

func made(t *testing.T) *release {
	t.Helper()
	r := &release{version: "v1.2.0", url: "https://example.org/x", out: t.TempDir(),
		date: time.Unix(1700000000, 0).UTC(), sums: map[string]string{}}
	for _, p := range []string{"linux/amd64", "linux/arm64", "darwin/arm64", "windows/amd64"} {
		goos, arch, _ := strings.Cut(p, "/")
		if err := r.pack(goos, arch, sample(goos)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.finish(); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *release) read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.out, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// entries lists a compressed tar archive: mode, name and text of its files.
func entries(t *testing.T, text []byte) (list []string) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	a := tar.NewReader(z)
	for {
		h, err := a.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(a)
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Uname != "" || h.ModTime.Unix() != 1700000000 {
			t.Errorf("%s: of %d %s, at %v", h.Name, h.Uid, h.Uname, h.ModTime)
		}
		list = append(list, fmt.Sprintf("%o %s %s", h.Mode, h.Name, b))
	}
}

// TestArchives reads the archives, and compares them with the checksums and a second run.
func TestArchives(t *testing.T) {
	r, again := made(t), made(t)
	want := []string{"cpor-v1.2.0-darwin-arm64.tar.gz", "cpor-v1.2.0-linux-amd64.tar.gz",
		"cpor-v1.2.0-linux-arm64.tar.gz", "cpor-v1.2.0-windows-amd64.zip", "cpor.rb",
		"cpor_1.2.0_amd64.deb", "cpor_1.2.0_arm64.deb"}
	if !slices.Equal(r.files, want) {
		t.Errorf("files: %q", r.files)
	}
	sums := string(r.read(t, "checksums.txt"))
	for _, name := range want {
		text := r.read(t, name)
		sum := sha256.Sum256(text)
		if !strings.Contains(sums, hex.EncodeToString(sum[:])+"  "+name+"\n") {
			t.Errorf("%s is not in the checksums", name)
		}
		if !bytes.Equal(text, again.read(t, name)) {
			t.Errorf("%s: another run made other bytes", name)
		}
	}
	list := entries(t, r.read(t, want[0]))
	for _, line := range []string{"755 cpor-v1.2.0-darwin-arm64/cpor program cpor",
		"755 cpor-v1.2.0-darwin-arm64/completions/ ",
		"644 cpor-v1.2.0-darwin-arm64/LICENSE text of LICENSE"} {
		if !slices.Contains(list, line) {
			t.Errorf("no %q in %q", line, list)
		}
	}
	text := r.read(t, want[3])
	z, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	if f, err := z.Open("cpor-v1.2.0-windows-amd64/cpor.exe"); err != nil {
		t.Error(err)
	} else {
		f.Close()
	}
}

// TestDebian takes a package apart, with dpkg-deb too if it is there.
func TestDebian(t *testing.T) {
	r := made(t)
	text := r.read(t, "cpor_1.2.0_amd64.deb")
	rest, ok := bytes.CutPrefix(text, []byte("!<arch>\n"))
	if !ok {
		t.Fatalf("begins with %q", text[:8])
	}
	parts := map[string][]byte{}
	for len(rest) > 0 {
		var size int
		if _, err := fmt.Sscan(string(rest[48:58]), &size); err != nil {
			t.Fatal(err)
		}
		parts[strings.TrimSpace(string(rest[:16]))] = rest[60 : 60+size]
		rest = rest[60+size+size%2:]
	}
	if string(parts["debian-binary"]) != "2.0\n" {
		t.Errorf("version %q", parts["debian-binary"])
	}
	control := strings.Join(entries(t, parts["control.tar.gz"]), "\n")
	if !strings.Contains(control, "Version: 1.2.0\nArchitecture: amd64\n") ||
		!strings.Contains(control, "  usr/bin/cpor\n") {
		t.Errorf("control: %s", control)
	}
	data := entries(t, parts["data.tar.gz"])
	for _, line := range []string{"755 usr/ ", "755 usr/bin/cpor program cpor",
		"644 usr/share/doc/cpor/copyright text of LICENSE"} {
		if !slices.Contains(data, line) {
			t.Errorf("no %q in %q", line, data)
		}
	}
	if err := debian(io.Discard, "1", "amd64", []file{{name: "x"}}, r.date); err == nil {
		t.Error("a file without a place was taken")
	}
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		return
	}
	out, err := exec.Command("dpkg-deb", "-I", filepath.Join(r.out,
		"cpor_1.2.0_amd64.deb")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Package: cpor") {
		t.Errorf("dpkg-deb -I: %v\n%s", err, out)
	}
	root := t.TempDir()
	if out, err := exec.Command("dpkg-deb", "-x", filepath.Join(r.out, "cpor_1.2.0_amd64.deb"),
		root).CombinedOutput(); err != nil {
		t.Errorf("dpkg-deb -x: %v\n%s", err, out)
	}
	if b, err := os.ReadFile(filepath.Join(root, "usr/bin/cpor-mcp")); err != nil ||
		string(b) != "program cpor-mcp" {
		t.Errorf("unpacked: %q, %v", b, err)
	}
}

func TestDebianVersion(t *testing.T) {
	for v, want := range map[string]string{
		"v1.2.0": "1.2.0", "v1.2.0-3-g12ab": "1.2.0+3+g12ab", "81aeb5c1": "0~81aeb5c1",
		"unknown": "0~unknown", "abc-dirty": "0~abc+dirty",
	} {
		if got := debianVersion(v); got != want {
			t.Errorf("%s: %s, want %s", v, got, want)
		}
	}
}

func TestFormula(t *testing.T) {
	r := made(t)
	f := string(r.read(t, "cpor.rb"))
	for _, want := range []string{`version "1.2.0"`, "on_macos do\n    on_arm do",
		`url "https://example.org/x/cpor-v1.2.0-linux-amd64.tar.gz"`,
		`sha256 "` + r.sums["cpor-v1.2.0-darwin-arm64.tar.gz"] + `"`} {
		if !strings.Contains(f, want) {
			t.Errorf("no %q in\n%s", want, f)
		}
	}
	if (&release{sums: map[string]string{"cpor-v1-windows-amd64.zip": "0"}}).formula() != "" {
		t.Error("a formula without an archive")
	}
	if _, err := exec.LookPath("ruby"); err == nil {
		if out, err := exec.Command("ruby", "-c", filepath.Join(r.out, "cpor.rb")).
			CombinedOutput(); err != nil {
			t.Errorf("ruby -c: %v\n%s", err, out)
		}
	}
}

func TestMistakes(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"linux/amd64", "-version"},
		{"-version a/b linux/amd64", "-version"},
		{"-version v1", "no platform"},
		{"-version v1 linux", "linux is not a platform"},
		{"-version v1 /amd64", "/amd64 is not a platform"},
		{"-nothing", "nothing"},
	} {
		if err := run(t.Context(), strings.Fields(test.args)); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.args, err, test.want)
		}
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if _, err := date(t.Context()); err == nil {
		t.Error("SOURCE_DATE_EPOCH=yesterday was taken")
	}
}
