package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"cpor/testkit/sample"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// screenshots are the pictures of docs/explore.md, which the test of the page makes.
var screenshots = flag.String("screenshots", "", "put the browser's pictures of the page into "+
	"this `directory` (the documentation's: ../../docs/explore)")

// axe is a script that judges whether pages can be used by everybody; .ci/run browser installs it.
var axe = flag.String("axe", "", "judge the accessibility of the page with this `file`, "+
	"axe.min.js of the npm package axe-core")

// browsers are the names under which there may be a browser that chromedp drives.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// findBrowser returns the path of a browser, and skips the test if there is none.
func findBrowser(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes seconds to start")
	}
	for _, name := range browsers {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("THE PAGE IS NOT TESTED: none of %s is installed", strings.Join(browsers, ", "))
	return ""
}

// patience is how long anything of the browser may take on a machine that has other
// things to do.
const patience = 3 * time.Minute

// startPage runs a command that serves a page until the test ends, and returns the address.
func startPage(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("cpor", args...)
	c.Dir = dir
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	c.Stderr = &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if runtime.GOOS == "windows" {
			c.Process.Kill()
			c.Wait()
			return
		}
		c.Process.Signal(os.Interrupt)
		if err := c.Wait(); err != nil {
			t.Errorf("cpor %s: after the interruption: %v\n%s", strings.Join(args, " "), err,
				stderr.String())
		}
	})
	var address string
	if _, err := fmt.Fscanln(out, &address); err != nil {
		t.Fatalf("cpor %s printed no address: %v\n%s", strings.Join(args, " "), err,
			stderr.String())
	}
	return address
}

// tab is a tab of the browser.
type tab struct {
	*testing.T
	ctx     context.Context
	console iter.Seq2[chromedp.ConsoleMessage, error]
}

// lastWord ends the messages that complaints reads.
const lastWord = "that was all"

// complaints fails the test if a script of the page has thrown an exception or has been
// refused something by the policy of the page. What the server refuses on purpose is in
// the browser's log, too.
func (b *tab) complaints() {
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("console.log(%q)", lastWord)))
	for m, err := range b.console {
		switch {
		case err != nil:
			b.Errorf("the browser: %v", err)
			return
		case m.Text == lastWord:
			return
		case m.IsException(), m.Type == "error" && m.Source != "network":
			b.Errorf("the page: %v", m)
		}
	}
}

// openTab opens a tab on an address. What its scripts complain about fails the test.
func openTab(t *testing.T, browser context.Context, address string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	b := &tab{T: t, ctx: ctx, console: chromedp.Console(ctx)}
	t.Cleanup(b.complaints)
	b.size(1200, 720)
	b.do(chromedp.Navigate(address))
	return b
}

func startBrowser(t *testing.T) context.Context {
	path := findBrowser(t)
	opts := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path),
		chromedp.NoSandbox,
		chromedp.Flag("force-color-profile", "srgb"), chromedp.WSURLReadTimeout(patience))
	alloc, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("%s does not start: %v", path, err)
	}
	return ctx
}

// do runs actions.
func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.Fatalf("the browser: %v\nthe page shows: %s", err, b.page())
	}
}

// page returns the texts of the page, for messages.
func (b *tab) page() string {
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("document.body.innerText"))
	if err != nil {
		return err.Error()
	}
	return text
}

func (b *tab) size(width, height int64) {
	b.do(chromedp.EmulateViewport(width, height))
}

// waitText waits until an element has a text in it.
func (b *tab) waitText(selector, text string) {
	b.Helper()
	q, _ := json.Marshal(selector)
	s, _ := json.Marshal(text)
	b.wait(fmt.Sprintf("[...document.querySelectorAll(%s)].some(e => e.checkVisibility() && "+
		"e.innerText.includes(%s))", q, s), fmt.Sprintf("%s shows %q", selector, text))
}

// wait waits until an expression is true.
func (b *tab) wait(expr, what string) {
	b.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if value[bool](b, "Boolean("+expr+")") {
			return
		}
		if time.Now().After(end) {
			b.Fatalf("it never happens that %s; the page shows:\n%s", what, b.page())
		}
	}
}

// waitCount waits until there are n elements.
func (b *tab) waitCount(selector string, n int, what string) {
	b.Helper()
	b.wait(fmt.Sprintf("document.querySelectorAll(%q).length === %d", selector, n), what)
}

func (b *tab) click(selector string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for {
		err := chromedp.Do(ctx, chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
		if err == nil {
			return
		}
		// The page may have been drawn again since the node was found.
		if gone := new(cdproto.Error); !errors.As(err, &gone) || !strings.Contains(gone.Message,
			"Could not find node") {
			b.Fatalf("the browser: %v\nthe page shows: %s", err, b.page())
		}
	}
}

// pick chooses in a list.
func (b *tab) pick(selector, choice string) {
	b.Helper()
	q, _ := json.Marshal(selector)
	v, _ := json.Marshal(choice)
	if !value[bool](b, fmt.Sprintf(`(() => {
		const s = document.querySelector(%s);
		const o = [...s.options].find(o => o.value === %s || o.textContent === %s);
		if (!o) return false;
		s.value = o.value;
		s.dispatchEvent(new Event("change"));
		return true;
	})()`, q, v, v)) {
		b.Fatalf("%s has no choice %s", selector, choice)
	}
}

// press presses a key with no field in focus.
func (b *tab) press(keys string) {
	b.Helper()
	b.run("document.activeElement.blur()")
	b.do(chromedp.KeyEvent(keys))
}

// pressAt presses a key with an element in focus.
func (b *tab) pressAt(selector, keys string) {
	b.Helper()
	b.run(fmt.Sprintf("document.querySelector(%q).focus()", selector))
	b.do(chromedp.KeyEvent(keys))
}

// value returns the value of an expression.
func value[V any](b *tab, expr string) V {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[V](expr))
	if err != nil {
		b.Fatalf("the browser: %v\nthe page shows: %s", err, b.page())
	}
	return v
}

// run executes statements.
func (b *tab) run(code string) {
	b.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](code))
}

// enter puts a text into a field.
func (b *tab) enter(selector, text string) {
	b.Helper()
	q, _ := json.Marshal(selector)
	v, _ := json.Marshal(text)
	b.run(fmt.Sprintf(
		`{ const f = document.querySelector(%s); f.value = %s; f.dispatchEvent(new Event("input")); }`, q, v))
}

// theme sets the theme that the system prefers.
func (b *tab) theme(name string) {
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
	if err != nil {
		b.Fatal(err)
	}
}

// maxPicture bounds the pictures of the documentation, in bytes.
const maxPicture = 150_000

// accessible judges the page as it is shown: contrast, names, roles, what the keyboard reaches.
func (b *tab) accessible(name string) {
	b.Helper()
	if *axe == "" {
		return
	}
	script, err := os.ReadFile(*axe)
	if err != nil {
		b.Fatal(err)
	}
	b.run(string(script))
	b.run(`window.judged = null; axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa",
		"wcag22aa"] }).then(r => { window.judged = r.violations.map(v => v.id + ": " + v.help +
		": " + v.nodes.slice(0, 3).map(n => n.html + " " + n.failureSummary).join("; ")); },
		e => { window.judged = [String(e)]; })`)
	b.wait("window.judged !== null", "axe has judged "+name)
	for _, v := range value[[]string](b, "window.judged") {
		b.Errorf("%s: %s", name, v)
	}
}

// inView waits until an element lies within a box, as far as the box shows it.
func (b *tab) inView(selector, box string) {
	b.Helper()
	b.wait(fmt.Sprintf(`(() => {
		const e = document.querySelector(%q)?.getBoundingClientRect();
		const r = document.querySelector(%q)?.getBoundingClientRect();
		return e && e.width && e.left >= r.left - 1 && e.right <= r.right + 1 &&
			e.top >= r.top - 1 && e.bottom <= r.bottom + 1;
	})()`, selector, box), selector+" is in view in "+box)
}

// picture takes a picture of the page. It must not be of one color, and nothing may be
// wider than the page.
func (b *tab) picture(name string) {
	b.Helper()
	b.wait("document.documentElement.scrollWidth <= window.innerWidth",
		name+" is not wider than the page")
	b.run("document.activeElement.blur()")
	b.wait("document.getAnimations().length === 0", "transitions are over")
	b.accessible(name)
	raw, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		b.Fatal(err)
	}
	colors := map[[3]uint32]bool{}
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y += 3 {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x += 3 {
			r, g, bl, _ := img.At(x, y).RGBA()
			colors[[3]uint32{r, g, bl}] = true
		}
	}
	if len(colors) < 8 {
		b.Errorf("%s: the page is empty: %d colors", name, len(colors))
	}
	if *screenshots == "" {
		return
	}
	var small bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small,
		img); err != nil {
		b.Fatal(err)
	}
	if small.Len() > maxPicture {
		b.Errorf("%s.png has %d bytes, more than %d", name, small.Len(), maxPicture)
	}
	if err := os.MkdirAll(*screenshots, 0o777); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*screenshots, name+".png"), small.Bytes(),
		0o666); err != nil {
		b.Fatal(err)
	}
}

// TestBrowser clicks through every view of the page in a real browser.
func TestBrowser(t *testing.T) {
	sample.Skip(t)
	browser := startBrowser(t)
	dir := mirror(t)
	work := t.TempDir()
	keep := func(name string, args ...string) string {
		out, _ := runCpor(t, dir, args)
		path := filepath.Join(work, name)
		if err := os.WriteFile(path, []byte(out), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	traced := func(t *testing.T, name string, args ...string) string {
		path := filepath.Join(work, name)
		runCpor(t, dir, append([]string{"run", "-workers", "1", "-q", "-trace", path}, args...))
		return path
	}
	open := func(t *testing.T, command string, args ...string) *tab {
		return openTab(t, browser,
			startPage(t, dir, append([]string{command, "-no-browser"}, args...)...))
	}
	t.Run("trace", func(t *testing.T) {
		file := traced(t, "peterson.json", "docs/tutorial/peterson-wrong.model")
		b := open(t, "view", file)
		b.theme("light")
		b.waitText(".headline", "invariant mutual_exclusion does not hold")
		b.waitText(".columns", "Process[1]")
		// It opens where it fails, and the beginning is a key away.
		b.waitText("#where", "step 6 of 6")
		b.waitText("#tofailure", "step 6 of Process[0]")
		b.waitText("#source .srcline.done", "await(!flag[other] || turn == me)")
		b.waitText("#source .srcline.fails", "invariant")
		b.inView("#source .srcline.done", "#source .scroll")
		b.press(kb.Home)
		b.waitText("#where", "step 0 of 6")
		b.press("!")
		b.waitText("#where", "step 6 of 6")
		b.click("#tobeginning")
		b.waitText("#where", "step 0 of 6")
		// The keys move, and the address follows.
		b.press(kb.ArrowDown)
		b.press(kb.ArrowDown)
		b.waitText("#where", "step 2 of 6")
		b.wait("location.hash.includes('step=2')", "the address has the step")
		b.waitText("#state .changed", "turn")
		b.press(kb.End)
		b.waitText("#where", "step 6 of 6")
		b.waitText("#source .srcline.done", "await(!flag[other] || turn == me)")
		b.waitText("#source .badge", "Process[0]")
		b.press(kb.Home)
		b.waitText("#where", "step 0 of 6")
		b.press("/")
		b.wait("document.activeElement.id === 'filter'", "/ leads to the search field")
		// the driver sends the character beside the key, which browsers do not
		b.enter("#filter", "")
		b.do(chromedp.KeyEvent("flag"))
		b.do(chromedp.KeyEvent(kb.Enter))
		b.waitText("#where", "step 3 of 6")
		b.click("#last")
		b.waitText("#where", "step 6 of 6")
		b.enter("#filter", "")
		b.picture("trace")
		// Dependencies are shown for the row under the pointer.
		b.run("document.querySelector('[data-row=\"3\"]').dispatchEvent(new " +
			"MouseEvent('mouseenter'))")
		b.wait("document.querySelectorAll('.depends').length > 0 && "+
			"document.querySelector('.row.past')", "dependencies are drawn")
		b.press(kb.Escape)
		b.enter("#slider", "3")
		b.waitText("#where", "step 3 of 6")
		// An address that somebody has sent.
		b.run("location.hash = '#view=execution&doc=0&step=4'")
		b.waitText("#where", "step 4 of 6")
		b.theme("dark")
		b.wait("document.documentElement.dataset.theme === 'dark'", "the theme follows the system")
		b.press(kb.End)
		b.picture("trace-dark")
		b.click("#theme")
		b.wait("document.documentElement.dataset.theme === 'light'", "the switch changes the theme")
		b.run("localStorage.clear()")
		b.theme("light")
		b.size(400, 860)
		b.picture("trace-narrow")
	})
	t.Run("long line", func(t *testing.T) {
		// The badge is in sight beside a line that is longer than the pane is wide, also of a
		// model that has another name than in the trace.
		src := "var a int\n\nthread T() {\n\ta = 1\n\tassert(a == 0" +
			strings.Repeat(" || a == 2", 30) + ")\n}\n\ninit {\n\tgo T()\n}\n"
		first, second := filepath.Join(work, "long.model"), filepath.Join(work, "moved.model")
		if err := os.WriteFile(first, []byte(src), 0o666); err != nil {
			t.Fatal(err)
		}
		file := traced(t, "long.json", first)
		if err := os.Rename(first, second); err != nil {
			t.Fatal(err)
		}
		b := open(t, "view", file, second)
		b.waitText("#source .badge.failing", "fails here")
		b.inView("#source .badge.failing", "#source .scroll")
	})
	t.Run("threads", func(t *testing.T) {
		file := traced(t, "workers.json", "docs/explore/workers.model")
		b := open(t, "view", file)
		b.theme("light")
		b.size(1280, 720)
		b.waitText(".headline", "an update was lost")
		// Twelve columns have no room: those without a step before the end are folded, and the step
		// that fails is in view.
		b.wait("document.querySelector('.foldedcolumn')", "columns are folded")
		b.inView(".row.current .cell", "#steps")
		b.waitText(".row.current.violation .gutter", "➜")
		b.waitCount(".overview .failureline", 1, "the overview shows the failure")
		b.wait("document.querySelector('.overview .switchline').getAttribute('d').match(/M/g)?."+
			"length > 4", "the overview shows the switches")
		b.picture("threads")
		b.theme("dark")
		b.picture("threads-dark")
		b.theme("light")
		// Unfolded, the grid is wider than the window, and scrolls sideways with the steps.
		b.click("#threads")
		b.pick("#idle", "show")
		b.waitCount(".foldedcolumn", 0, "all columns are there")
		b.wait("(e => e.scrollWidth > e.clientWidth)(document.querySelector('#steps'))",
			"they are wider than the window")
		for range 2 {
			b.press(kb.Home)
			b.press("F") // every step
			for range 30 {
				b.press(kb.PageDown)
				b.inView(".row.current .cell", "#steps")
			}
		}
		// A pinned column stays at the left, a hidden one goes, and all of it by keyboard.
		b.pressAt("#pin-11", kb.Enter)
		b.waitText(".column.pinned", "Worker[11]")
		b.wait("document.activeElement.id === 'pin-11'", "the focus stays at the button")
		b.run("document.querySelector('#steps').scrollLeft = 300")
		b.inView(".column.pinned", "#steps")
		b.pressAt("#show-3", " ")
		b.waitText("#threads", "1 hidden")
		columns := "[...document.querySelectorAll('.column')].map(c => c.textContent)"
		b.wait("!"+columns+".includes('Worker[3]')", "the hidden column is gone")
		b.wait(columns+".indexOf('Worker[1]') === 2", "the order of columns")
		b.run("document.querySelector('#down-0').click()")
		b.wait(columns+".indexOf('Worker[1]') === 1", "Worker[1] is before Worker[0]")
		b.accessible("the list of threads")
		b.do(chromedp.KeyEvent(kb.Escape))
		b.size(400, 860)
		b.picture("threads-narrow")
	})
	t.Run("long", func(t *testing.T) {
		file := traced(t, "pipeline.json", "docs/explore/pipeline.model")
		b := open(t, "view", file)
		b.theme("light")
		b.size(1100, 640)
		b.waitText(".headline", "the sum is reached")
		b.waitText("#foldall", "unfold 1 run")
		b.inView(".row.current .cell", "#steps")
		b.wait("document.querySelectorAll('.row').length < 60", "only what is seen is in the page")
		// A fold is one line for the keys too, and opens when one goes into it.
		steps := value[int](b, "Number(document.querySelector('#slider').max)")
		if steps < 600 {
			t.Errorf("the execution has %d steps", steps)
		}
		b.press(kb.Home)
		lines := 0
		for ; value[bool](b, "!document.querySelector('#forward').disabled"); lines++ {
			b.press(kb.ArrowDown)
			if lines > steps {
				t.Fatal("the end is never reached")
			}
		}
		if lines > steps/2 {
			t.Errorf("%d steps are %d lines", steps, lines)
		}
		b.press(kb.Home)
		for range 40 {
			if value[bool](b, "Boolean(document.querySelector('.row.fold'))") {
				break
			}
			b.press(kb.ArrowDown)
		}
		b.waitText(".row.fold", "times more")
		b.press(kb.ArrowDown)
		b.press(kb.ArrowUp)
		b.picture("long")
		b.click(".unfold")
		b.wait("!document.querySelector('.row.fold')", "the run unfolds")
		b.press("F")
		b.press("F")
		b.enter("#slider", "300")
		b.waitText("#where", "step 300 of")
		b.waitText(".row.current .gutter", "300")
		b.accessible("the middle of a long execution")
		b.wait("!document.querySelector('.row.fold')", "the run opens when one goes into it")
		b.press("f")
		b.waitText(".row.fold.current", "times more")
	})
	t.Run("by hand", func(t *testing.T) {
		b := open(t, "explore", "docs/tutorial/counter.model")
		b.waitText("#moves", "Counter[0]")
		b.waitText("#where", "the beginning")
		b.click(`.move[data-thread="Counter[0]"]`)
		b.waitText("#where", "step 1 of 1")
		b.click(`.move[data-thread="Counter[1]"]`)
		b.waitText("#where", "step 2 of 2")
		b.press(kb.ArrowLeft)
		b.waitText("#where", "step 1 of 2")
		// Another way: what was ahead is forgotten.
		b.click(`.move[data-thread="Counter[0]"]`)
		b.waitText("#where", "step 2 of 2")
		b.wait("location.hash.includes('path=0:0,0')", "the address has the path")
		b.do(chromedp.NavigateBack())
		b.wait("location.hash.includes('path=0:0,1')", "the browser's back button goes back")
		b.enter("#predicate", "counter == 7")
		b.click("#jump")
		b.waitText("#message", "no state reachable from here satisfies it")
		b.press(kb.Home)
		b.waitText("#where", "step 0 of")
		b.enter("#predicate", "counter == 1 && done == 2")
		b.click("#jump")
		b.waitText("#where", "step 6 of 6")
		b.waitText(".row.violation", "an update was lost")
		// Compare it with the state two steps before.
		b.click("#mark")
		b.press(kb.ArrowUp)
		b.press(kb.ArrowUp)
		b.waitText("#state", "differ")
		b.waitText("#state .mark", "≠")
		b.picture("compare")
		b.click("#mark")
		b.press(kb.Home)
		b.press(kb.ArrowDown)
		b.press(kb.ArrowDown)
		b.picture("explore")
		b.enter("#predicate", "countr == 1")
		b.click("#jump")
		b.waitText("#message", "did you mean counter?")
		// Search from here.
		b.click("#searchhere")
		b.waitText("#search .here", "from the state after 2 steps")
		b.click("#start")
		b.waitText("#status", "violation found")
		b.click(".found")
		b.waitText(".headline", "an update was lost")
		b.wait("document.querySelector('#where').innerText.startsWith('step 6')",
			"the way there stands in front")
	})
	t.Run("search", func(t *testing.T) {
		// It takes long enough to be stopped, on any machine.
		b := open(t, "explore", "-D", "N=14", "benchmarks/philosophers.model")
		b.click("#tab-search")
		b.waitText("#status", "choose one and press start")
		b.pick("#kind", "none")
		b.enter("#flags", "-workers 1 -checkpoint kept")
		b.click("#start")
		b.wait("document.querySelectorAll('.chart .curve').length === 6 && "+
			"(document.querySelector('.chart .curve').getAttribute('d').match(/L/g) ?? "+
			"[]).length > 3", "curves are drawn")
		b.wait("Number(document.querySelector('#covered "+
			".count:not(:empty)')?.innerText.replace(/\\D/g, '')) > 0", "the source fills in")
		b.waitText("#forecast", "forecast") // of so many states there is none yet
		b.picture("search")
		b.click("#stop")
		b.waitText("#status", "incomplete: stopped by the user; no violation so far")
		b.wait("document.querySelector('#covered h2').textContent.startsWith('Executed: ')",
			"what was executed stays there")
		if _, err := os.Stat(filepath.Join(dir, "kept", "checkpoint")); err != nil {
			t.Errorf("there is no checkpoint: %v", err)
		}
		b.enter("#flags", "-max-states x")
		b.click("#start")
		b.waitText("#message", "-max-states x: want a number")
		b.enter("#flags", "-json")
		b.click("#start")
		b.waitText("#message", "-json has no effect in a search started from the page")
		// With so large an N the robots meet where they should not.
		b = open(t, "explore", "-D", "R=3", "-D", "N=28", "benchmarks/robots.model")
		b.click("#tab-search")
		b.pick("#kind", "cartesian")
		b.click("#start")
		b.waitText("#status", "cartesian: ✗ violation found")
		b.waitText(".found", "robots meet off their rows")
		b.size(400, 860)
		b.picture("search-narrow")
	})
	t.Run("graph", func(t *testing.T) {
		b := open(t, "explore", "docs/tutorial/peterson.model")
		b.click("#tab-graph")
		b.waitText("#stats", "cartesian covers 13 of")
		b.click(`#canvas [data-node="3"]`)
		b.wait("document.querySelector('#detail .vars')", "the state is shown")
		b.picture("graph")
		b.theme("dark")
		b.picture("graph-dark")
		b.pick("#por", "all states")
		b.waitText("#stats", "transitions.")
		b.wait("!document.querySelector('.node.left:not(.legend *)')",
			"nothing is left out of all states")
		b.click(`#canvas [data-node="5"]`)
		b.click("#opennode")
		b.waitText("#where", "step")
		b.click("#tab-search")
		b.click("#start")
		b.waitText("#status", "auto: ✓ no violation; everything was covered")
	})
	t.Run("large graph", func(t *testing.T) {
		b := open(t, "explore", "docs/explore/turns.model")
		b.theme("light")
		b.size(1280, 720)
		b.click("#tab-graph")
		b.waitText("#stats", "1,795 states")
		b.pick("#por", "all states")
		b.waitText("#stats", "1,795 states, ")
		marks := "document.querySelectorAll('#canvas .node, #canvas .many').length"
		b.wait(marks+" > 20 && "+marks+" < 400", "wide layers are collapsed")
		// A mark has a size at which it can be recognized and hit.
		b.wait("document.querySelector('#canvas .node').getBoundingClientRect().width >= 8",
			"states are not too small")
		b.wait("document.querySelectorAll('#canvas .edge.path').length > 3",
			"the path to a violation is drawn")
		b.picture("graph-large")
		many := value[int](b, "document.querySelectorAll('#canvas .many').length")
		clickOn := "document.querySelector(%q).dispatchEvent(new MouseEvent('click'))"
		b.run(fmt.Sprintf(clickOn, "#canvas .many"))
		b.waitCount("#canvas .many", many-1, "a layer opens")
		b.run(fmt.Sprintf(clickOn, "#canvas .layerlabel"))
		b.waitCount("#canvas .many", many, "and closes")
		// Without all that, the page says that the picture does not help.
		b.click("#collapse")
		b.waitText("#advice", "shows little")
		b.click("#docollapse")
		b.wait("document.querySelector('#advice').hidden", "the advice is followed")
		b.press("!")
		b.waitText("#detail", "too far")
		b.inView("#canvas .selected", "#canvas")
		b.pick("#by", value[string](b, "[...document.querySelector('#by').options].find(o => "+
			"o.textContent.startsWith('turn ')).value"))
		b.waitCount("#canvas .many", 3, "three values, three marks")
		b.picture("graph-clusters")
		b.pick("#by", "nothing")
		b.enter("#find", "turn = 2, place[0] = 1")
		b.wait("/^[1-9][0-9,]* states$/.test(document.querySelector('#findhits').textContent)",
			"states are found")
		b.pressAt("#find", kb.Enter)
		b.waitText("#detail h2", "STATE") // small capitals
		b.press("l")
		b.waitCount("#list tbody tr", 200, "the list of those")
		b.picture("graph-list")
		b.click("#morestates")
		b.wait("document.querySelectorAll('#list tbody tr').length > 200", "more of them")
		b.enter("#find", "turn = 77")
		b.waitText("#list", "No state has that")
		b.enter("#find", "")
		b.press("s")
		b.waitText("#detail h2", "STATE 1: INITIAL")
		b.pressAt("#nexts button", kb.Enter)
		b.waitText("#detail h2", "AT DEPTH 1")
	})
	t.Run("unfolding", func(t *testing.T) {
		b := open(t, "explore", "docs/tutorial/counter.model")
		b.theme("light")
		b.click("#tab-prefix")
		b.waitText("#prefixstats", "The complete prefix: 22 events, 3 of them cut-off, 38 "+
			"conditions.")
		b.waitCount("#prefixcanvas .event", 22, "events are drawn")
		b.waitCount("#prefixcanvas .event.cutoff", 3, "cut-off events are drawn")
		b.waitCount("#prefixcanvas .event.bad", 2, "violations are drawn")
		b.waitCount("#prefixcanvas .cond", 38, "conditions are drawn")
		b.wait("document.querySelector('#prefixcanvas .arc.read') && "+
			"document.querySelector('#prefixcanvas .arc.after')", "lines are drawn")
		b.press("0") // all of it
		b.click("#prefixcanvas [data-event='20']")
		b.waitText("#prefixdetail", "an update was lost")
		b.waitCount(".event.past", 5, "what happened before stands out")
		b.waitCount(".event.apart", 16, "the other events are faint")
		b.size(940, 520)
		b.picture("unfolding")
		b.theme("dark")
		b.wait("document.documentElement.dataset.theme === 'dark'", "the theme follows the system")
		box := value[string](b, "document.querySelector('#prefixcanvas').getAttribute('viewBox')")
		b.press("+")
		b.press(kb.ArrowRight)
		b.wait(fmt.Sprintf("document.querySelector('#prefixcanvas').getAttribute('viewBox') !== %q",
			box), "the keys move the picture")
		b.press("0")
		b.click("#openevent")
		b.waitText("#where", "step 6 of 6")
		b.waitText(".row.violation", "an update was lost")
		// What a model says is text, also here; and Promela has no unfolding.
		b = open(t, "explore", "benchmarks/promela/indexer.pml")
		b.waitText("#tabs", "State graph")
		b.wait("!document.querySelector('#tab-prefix')", "no unfolding is offered")
	})
	t.Run("print", func(t *testing.T) {
		model := filepath.Join(work, "print.model")
		text := "var x int\nthread T(i int) {\n\tprint(\"<b>T\", i, \"saw\", x)\n\tx = i + " +
			"1\n\tassert(x != 2, \"<script>document.title='bad'</script>\")\n}\ninit { go T(0); " +
			"go T(1) }\n"
		if err := os.WriteFile(model, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		file := traced(t, "print.json", model)
		b := open(t, "view", file)
		b.waitText("#steps .effect", "<b>T 1 saw 0")
		b.press(kb.End)
		b.waitText(".row.violation", "<script>document.title='bad'</script>")
		b.enter("#filter", "saw")
		b.waitText(".hits", "1 step")
		// Without the model, the file tells of it, too.
		if err := os.Remove(model); err != nil {
			t.Fatal(err)
		}
		b = open(t, "view", file)
		b.waitText(".headline .note", "Showing only the contents of the file")
		b.waitText("#steps .effect", "<b>T 1 saw 0")
		b.wait("document.title !== 'bad' && !document.querySelector('#steps b, #steps script')",
			"nothing of the model is markup")
	})
	t.Run("lasso", func(t *testing.T) {
		file := keep("lasso.json", "run", "-json", "-workers", "1", "-ltl", "all", "-D", "WAVES=1",
			"benchmarks/mattern.model")
		b := open(t, "view", file)
		b.waitText(".headline", "does not hold")
		b.wait("document.querySelector('.loop, .looptext')", "the loop is drawn")
		b.press(kb.End)
		b.waitText("#state", "propositions")
		b.picture("lasso")
	})
	t.Run("messages", func(t *testing.T) {
		file := traced(t, "mailbox.json", "-D", "REUSE=true", "docs/explore/mailbox.model")
		// The file has the constant.
		b := open(t, "view", file)
		b.waitText(".headline", "both have the same ticket")
		b.wait("document.querySelectorAll('.message').length >= 4", "each message is an arrow")
		b.waitText("#steps", "send 1 to ask (2 of 2)")
		b.press(kb.End)
		b.waitText(".row.violation", "both have the same ticket")
		b.picture("messages")
		// With another constant it is another model: only the file is shown, and why.
		b = open(t, "view", "-D", "REUSE=false", file)
		b.waitText(".headline .note", "Showing only the contents of the file")
		b.wait("document.querySelectorAll('.message').length >= 4", "each message is an arrow")
	})
	t.Run("go", func(t *testing.T) {
		file := filepath.Join(work, "pubsub.json")
		// where it is, so that the places have short names
		dir := filepath.Join("..", "..", "examples", "go")
		runCpor(t, dir, []string{"test", "-workers", "1", "-trace", file, "./pubsub/bug"})
		b := openTab(t, browser, startPage(t, dir, "view", "-no-browser", file))
		b.theme("light")
		b.waitText(".headline", "deadlock: TestUnsubscribe, TestUnsubscribe.func1 #1")
		b.waitText(".headline .note", "waits to lock Hub.mu, locked by TestUnsubscribe.func1 #1")
		b.waitText(".columns", "TestUnsubscribe.func1 #1")
		b.press(kb.End)
		b.waitText("#moves", "No thread is enabled here")
		b.press(kb.Home)
		b.enter("#filter", "send")
		b.pressAt("#filter", kb.Enter)
		b.waitText(".row.current", "send \"one\" to Sub.C")
		b.wait("document.querySelector('.messagetext').textContent === '\"one\"'",
			"the message stands at its arrow")
		b.waitText("#source .srcline.done", "s.C <- msg")
		b.enter("#filter", "")
		b.size(1200, 640)
		b.picture("go")
		b.click(".move:not(.taken)") // and on by hand
		b.wait("location.hash.includes('path=')", "it goes on by hand")

		file = filepath.Join(work, "closetwice.json") // the README's example
		runCpor(t, dir, []string{"test", "-workers", "1", "-trace", file, "./closetwice/bug"})
		b = openTab(t, browser, startPage(t, dir, "view", "-no-browser", file))
		b.theme("light")
		b.waitText(".headline", "panic: close of closed channel")
		b.waitText("#source .srcline.done", "close(c.done)")
		b.size(1200, 640)
		b.picture("closetwice")
	})
	t.Run("conform", func(t *testing.T) {
		file := filepath.Join(work, "conform.json")
		dir := filepath.Join("..", "..", "examples", "conform")
		c := exec.Command("cpor", "conform", "-json", "lock.model", "bad.log")
		c.Dir = dir
		text, err := c.Output()
		if c.ProcessState.ExitCode() != 1 {
			t.Fatalf("cpor conform: %v", err)
		}
		if err := os.WriteFile(file, text, 0o666); err != nil {
			t.Fatal(err)
		}
		b := openTab(t, browser, startPage(t, dir, "view", "-no-browser", file))
		b.theme("light")
		b.waitText(".headline", "the model cannot do what the log shows")
		b.waitCount("#parting .coming", 3, "events that come next")
		b.waitText("#parting .offer .why", "but waits for a message in releases, which is empty")
		b.waitText(".row.violation", "the model cannot do this")
		b.picture("conform")
		b.press(kb.End)
		b.click("#tocut")
		b.waitText(".row.current", "enters")
	})
	t.Run("calls", func(t *testing.T) {
		file := filepath.Join(work, "calls.json")
		dir := filepath.Join("..", "..", "examples", "linearizable")
		runCpor(t, dir, []string{"test", "-workers", "1", "-trace", file, "./bug"})
		b := openTab(t, browser, startPage(t, dir, "view", "-no-browser", file))
		b.theme("light")
		b.size(1100, 700)
		b.waitText(".headline", "*cache.Cache is not linearizable")
		b.waitCount("#history .lanename", 2, "two goroutines")
		b.waitText("#history .call.ordered", "1. PutIfAbsent(\"a\", 1)")
		b.waitText("#history .call.misfit", "✗ PutIfAbsent(\"a\", 1)")
		b.waitText("#history .misfits", "(here: false)")
		b.waitText("#history pre", "check.Only(`PutIfAbsent(\"a\", 1) || PutIfAbsent(\"a\", 1)`)")
		// They overlap, in different columns.
		b.wait(`(() => {
			const [one, two] = [".ordered", ".misfit"].map(c =>
				document.querySelector("#history .call" + c).getBoundingClientRect());
			return one.right < two.left && one.top < two.bottom && two.top < one.bottom;
		})()`, "the calls overlap in time")
		b.inView(".row.current", "#steps")
		b.picture("calls")
		b.theme("dark")
		b.picture("calls-dark")
		b.theme("light")
		b.size(400, 860)
		b.picture("calls-narrow")
		b.size(1280, 800)
		b.pressAt("#history summary", kb.Enter)
		b.wait("!document.querySelector('#history').open", "it closes")
	})
	t.Run("recorded", func(t *testing.T) {
		file := keep("detect.json", "detect", "-json", "-q", "-poss",
			"exists i < j: i.crit && j.crit", "detect/benchmarks/mutex/testdata/majority.log")
		b := open(t, "view", file)
		b.wait("document.querySelector('.row')", "events are shown")
		b.wait("document.querySelector('.message')", "messages are drawn")
		b.picture("recorded")
	})
}
