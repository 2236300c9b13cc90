package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// file is a file of an archive.
type file struct {
	name    string // with slashes
	text    []byte
	program bool
}

func (f *file) mode() os.FileMode {
	if f.program {
		return 0o755
	}
	return 0o644
}

// pack writes the archive of a platform and, for Linux, the Debian package.
func (r *release) pack(goos, arch string, files []file) error {
	name := fmt.Sprintf("cpor-%s-%s-%s", r.version, goos, arch)
	inside := make([]file, len(files))
	for i, f := range files {
		f.name = path.Join(name, f.name)
		inside[i] = f
	}
	slices.SortFunc(inside, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	var b bytes.Buffer
	var err error
	if goos == "windows" {
		name += ".zip"
		err = zipped(&b, inside, r.date)
	} else {
		name += ".tar.gz"
		err = tarred(&b, inside, r.date)
	}
	if err == nil {
		err = r.write(name, b.Bytes())
	}
	if err != nil || goos != "linux" {
		return err
	}
	b.Reset()
	version := debianVersion(r.version)
	if err := debian(&b, version, arch, files, r.date); err != nil {
		return err
	}
	return r.write(fmt.Sprintf("cpor_%s_%s.deb", version, arch), b.Bytes())
}

func (r *release) write(name string, text []byte) error {
	sum := sha256.Sum256(text)
	r.files, r.sums[name] = append(r.files, name), hex.EncodeToString(sum[:])
	fmt.Println(filepath.Join(r.out, name))
	return os.WriteFile(filepath.Join(r.out, name), text, 0o666)
}

// finish writes the formula and the checksums.
func (r *release) finish() error {
	if f := r.formula(); f != "" {
		if err := r.write("cpor.rb", []byte(f)); err != nil {
			return err
		}
	}
	slices.Sort(r.files)
	var b strings.Builder
	for _, name := range r.files {
		fmt.Fprintf(&b, "%s  %s\n", r.sums[name], name)
	}
	fmt.Println(filepath.Join(r.out, "checksums.txt"))
	return os.WriteFile(filepath.Join(r.out, "checksums.txt"), []byte(b.String()), 0o666)
}

// tarred writes a compressed tar archive. The folders of the files are entries, too.
func tarred(w io.Writer, files []file, date time.Time) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	known := map[string]bool{".": true, "/": true}
	for _, f := range files {
		var folders []string
		for dir := path.Dir(f.name); !known[dir]; dir = path.Dir(dir) {
			known[dir] = true
			folders = append(folders, dir)
		}
		for _, dir := range slices.Backward(folders) {
			if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755,
				ModTime: date, Format: tar.FormatGNU}); err != nil {
				return err
			}
		}
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name,
			Mode: int64(f.mode()), Size: int64(len(f.text)), ModTime: date,
			Format: tar.FormatGNU}); err != nil {
			return err
		}
		if _, err := t.Write(f.text); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

func zipped(w io.Writer, files []file, date time.Time) error {
	z := zip.NewWriter(w)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: date}
		h.SetMode(f.mode())
		entry, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := entry.Write(f.text); err != nil {
			return err
		}
	}
	return z.Close()
}

var (
	notDebian = regexp.MustCompile(`[^A-Za-z0-9.+~]`)
	numbered  = regexp.MustCompile(`^[0-9].*\.`)
)

// debianVersion makes a version one that dpkg accepts: it begins with a digit, and has no hyphen,
// which would begin the revision of a package.
func debianVersion(v string) string {
	v = notDebian.ReplaceAllString(strings.TrimPrefix(v, "v"), "+")
	if !numbered.MatchString(v) { // a commit
		v = "0~" + v
	}
	return v
}

// places are where files go in a Debian package, by what their names end in here.
var places = []struct{ name, to string }{
	{"cpor.1", "usr/share/man/man1/cpor.1.gz"},
	{"completions/cpor.bash", "usr/share/bash-completion/completions/cpor"},
	{"completions/_cpor", "usr/share/zsh/vendor-completions/_cpor"},
	{"completions/cpor.fish", "usr/share/fish/vendor_completions.d/cpor.fish"},
	{"LICENSE", "usr/share/doc/cpor/copyright"},
	{"README.md", "usr/share/doc/cpor/README.md"},
	{"CHANGELOG.md", "usr/share/doc/cpor/changelog.gz"},
}

// debian writes a Debian package: an archive of ar with two of tar inside (deb(5)).
func debian(w io.Writer, version, arch string, files []file, date time.Time) error {
	var data []file
	for _, f := range files {
		to := ""
		if f.program {
			to = "usr/bin/" + f.name
		}
		for _, p := range places {
			if p.name == f.name {
				to = p.to
			}
		}
		if to == "" {
			return fmt.Errorf("%s has no place in a Debian package", f.name)
		}
		if strings.HasSuffix(to, ".gz") {
			var b bytes.Buffer
			z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
			if err != nil {
				return err
			}
			if _, err := z.Write(f.text); err != nil {
				return err
			}
			if err := z.Close(); err != nil {
				return err
			}
			f.text = b.Bytes()
		}
		f.name = to
		data = append(data, f)
	}
	slices.SortFunc(data, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	size := 0
	var sums strings.Builder
	for _, f := range data {
		size += len(f.text)
		fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.text), f.name)
	}
	control := fmt.Sprintf(`Package: cpor
Version: %s
Architecture: %s
Maintainer: cpor's maintainers <maintainers@cpor.invalid>
Installed-Size: %d
Suggests: golang-go
Section: devel
Priority: optional
Description: explores every interleaving of a concurrent system that matters
 cpor finds concurrency bugs in Go tests, in models of its own language and in
 Promela models, on all cores, or proves that there are none within the bounds
 that were set.
`, version, arch, (size+1023)/1024)
	var dataTar, controlTar bytes.Buffer
	if err := tarred(&dataTar, data, date); err != nil {
		return err
	}
	if err := tarred(&controlTar, []file{{name: "control", text: []byte(control)},
		{name: "md5sums", text: []byte(sums.String())}}, date); err != nil {
		return err
	}
	return ar(w, date, []file{{name: "debian-binary", text: []byte("2.0\n")},
		{name: "control.tar.gz", text: controlTar.Bytes()},
		{name: "data.tar.gz", text: dataTar.Bytes()}})
}

// ar writes an archive in the common format of ar(5).
func ar(w io.Writer, date time.Time, files []file) error {
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	for _, f := range files {
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", f.name, date.Unix(), 0, 0, 0o100644,
			len(f.text))
		b.Write(f.text)
		if len(f.text)%2 == 1 {
			b.WriteByte('\n')
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// formula returns the formula for Homebrew; empty if there is no archive for it.
func (r *release) formula() string {
	var b strings.Builder
	for _, o := range []struct{ block, os string }{{"on_macos", "darwin"}, {"on_linux", "linux"}} {
		inner := ""
		for _, a := range []struct{ block, arch string }{{"on_arm", "arm64"},
			{"on_intel", "amd64"}} {
			name := fmt.Sprintf("cpor-%s-%s-%s.tar.gz", r.version, o.os, a.arch)
			if sum := r.sums[name]; sum != "" {
				inner += fmt.Sprintf("    %s do\n      url %q\n      sha256 %q\n    end\n", a.block,
					r.url+"/"+name, sum)
			}
		}
		if inner != "" {
			fmt.Fprintf(&b, "\n  %s do\n%s  end\n", o.block, inner)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return fmt.Sprintf(`class Cpor < Formula
  desc "Explores every interleaving of a concurrent system that matters"
  homepage %q
  version %q
  license "Apache-2.0"
%s
  def install
    bin.install "cpor", "cpor-bench", "cpor-mcp"
    man1.install "cpor.1"
    bash_completion.install "completions/cpor.bash" => "cpor"
    zsh_completion.install "completions/_cpor"
    fish_completion.install "completions/cpor.fish"
  end

  test do
    (testpath/"x.model").write "thread T() { assert(1 < 2) }\ninit { go T() }\n"
    system bin/"cpor", "run", "-q", "x.model"
  end
end
`, r.url, strings.TrimPrefix(r.version, "v"), b.String())
}
