package native

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"cpor/system"
)

// The protocol: a test binary reads commands from its file descriptor 3, and answers each on
// descriptor 4 with the records of an execution. For example, a test that starts a goroutine is
// answered by: Thread (the test), Pending (its first step), Step, Thread (the goroutine), Pending
// of both, and so on, until End.
//
// Everything is words of 32 bits in little endian; a long is two of them, the low one first. {} is
// a repetition, [] an option:
//
//	command   = flags choices maxsteps policy seed:long depth length
//	            epoch:long object:long offset:long   the access of cmdWatch, whose stack is wanted
//	            memory:long known readings
//	            weights all object:long offset:long   of SURW: how many, and what is selected
//	            words 0
//	            {choice}                              as many as it says
//	            {weight}
//	choice    = key:long alternative:long             key: of a thread, the same in all executions
//	weight    = key:long events:long
//	execution = {record} (End | Died)
//	record    = size*16+kind ...                      size: words, this one included
//
//	Thread    = number parent nth key:long function:long created:long    both are program counters
//	Loc       = kind object:long offset:long index:long                  numbered from 0, in order
//	Stack     = number {pc:long}
//	List      = {access}                                                 numbered as well
//	Known     = number hash:long                   of the known steps, instead of a Step for each
//	Step      = thread alternative op stack now:long hash:long
//	            list {value:long}                  bit 8 of op: it created a thread; a value for
//	                                               each write
//	Pending   = thread op enabled stack deadline:long list {list}        numbered as well
//	            bits of op: 17 it may wait at the end, 18 it is early; a list for each alternative
//	Next      = thread pending                     it is about to do that
//	Ended     = thread
//	Forget    =                                    all Locs, Lists and Pendings are forgotten
//	Failure   = kind epoch:long object:long offset:long flags:long text thread {pc:long}
//	            failWait has the operation in place of the epoch, and what it waits for in a bubble
//	            in place of the object; bits of flags, for a race: 0 the earlier access writes,
//	            1 this one does
//	Output    = text
//	Test      = what thread name:text why:text     the test or a subtest: 0 runs, 1 has ended,
//	                                               2 is skipped, 3 has called Parallel
//	End       = end flags hash:long                bits of flags: 0 wrote to the outside,
//	                                               1 used it, 3 what was told is forgotten,
//	                                               8 and up what was fixed (see fixed)
//	Died      = status                             of the process forked for the execution
//
//	access    = location*2+write
//	object    = thread<<30 | sequence                 what it created; 0: none
//	text      = bytes {word}                          with zeros at the end
//
// Several commands can be written at once; the first one says how many words they have. They are
// read before the first one is executed, and their answers may come together.
//
// What has a number was told in this execution or an earlier one of the process, or of one that it
// has forked. A Died forgets all of it. The other side is overlay/runtime_tell.go.txt.

// process is a test binary that waits for commands.
type process struct {
	b      *Binary
	test   string
	env    []string
	limits Limits
	mode   Mode // as asked for
	now    Mode // Repeat or Fork; Auto: not known yet

	cmd   *exec.Cmd
	guard guard
	in    *os.File
	out   *os.File
	r     *records
	buf   []byte // a command

	asked    batch // what was written; the answers to what was not taken are still to come
	expected batch // what is to be written with the next command

	heard   bool // something of the execution at hand
	told    told
	threads []thread  // by the numbers in this execution; there may be more from earlier ones
	made    int       // how many threads this execution has
	words   []uint64  // for Step.Values
	changed []Pending // for Step.After
	from    int       // where those of the last step begin
	x       Execution
	output  []byte // of x
}

// batch are commands, of which the first ones were taken.
type batch struct {
	b     []byte
	ends  []int
	taken int
}

func (q *batch) clear() { q.b, q.ends, q.taken = q.b[:0], q.ends[:0], 0 }

func (q *batch) left() int { return len(q.ends) - q.taken }

func (q *batch) push(command []byte) {
	q.b = append(q.b, command...)
	q.ends = append(q.ends, len(q.b))
}

// take takes the first command. It is valid until the next push.
func (q *batch) take() []byte {
	from := 0
	if q.taken > 0 {
		from = q.ends[q.taken-1]
	}
	q.taken++
	return q.b[from:q.ends[q.taken-1]]
}

// thread is what a number stands for in an execution.
type thread struct {
	key    uint64
	number int32 // of [Binary.ThreadName]
}

// told is what the process has told and will not tell again.
type told struct {
	stacks   []stack // by number, from 1
	locs     []system.Loc
	kinds    []uint32 // of locs
	lists    []list
	pendings []Pending
}

// stack is where a goroutine stood.
type stack struct {
	pcs  []uint64
	pos  system.Pos
	test bool // it is that of a test function
}

// list is a list of accesses.
type list struct {
	accesses []system.Access
	scans    bool // it is read which threads exist
}

func (t *told) forget() { *t = told{stacks: t.stacks} }

// stack returns the stack of a number; 0: there is none.
func (t *told) stack(n uint32) *stack {
	if int(n) < len(t.stacks) {
		return &t.stacks[n]
	}
	return &stack{}
}

// Start starts a process for a test function of the package. Processes run one test at a time:
// what threads are called is that of the last test.
// The environment env is added to that of this process.
func (b *Binary) Start(test string, mode Mode, l Limits, env ...string) (Process, error) {
	if l.Memory == 0 {
		l.Memory = 4 << 30
	}
	if l.Step == 0 {
		l.Step = 10 * time.Second
	}
	p := &process{b: b, test: test, env: env, limits: l, mode: mode}
	if mode == Repeat || mode == Fork {
		p.now = mode
	}
	b.names.of(test)
	if _, err := b.thread(-1, 0, 1, func() string { return test }); err != nil {
		return nil, err
	}
	return p, p.start()
}

func (p *process) start() error {
	inR, inW, err := pipe()
	if err != nil {
		return err
	}
	outR, outW, err := pipe()
	if err != nil {
		return err
	}
	c := exec.Command(p.b.file, p.b.o.Args...)
	c.Dir = p.b.pkgDir
	c.Env = slices.Concat(os.Environ(), p.b.o.Env, p.env)
	// Without invalidptr=0 a stack could not grow where an access is looked at: a variable of many
	// words that is about to be written counts as one that holds pointers there already.
	//
	// What is set for the run-time is not for the test, nor for the processes that it starts.
	for _, set := range []string{"GOMAXPROCS=1",
		"GODEBUG=asyncpreemptoff=1,invalidptr=0,gcshrinkstackoff=1", "GOGC=off", "GOMEMLIMIT=off",
		"GOTRACEBACK=single"} {
		name, _, _ := strings.Cut(set, "=")
		i := slices.IndexFunc(c.Env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
		if i >= 0 {
			c.Env[i] = "CPOR_WAS_" + c.Env[i]
		}
		c.Env = append(c.Env, set)
	}
	c.Env = append(c.Env, "CPOR_TEST="+p.test, "CPOR_BOUNDS="+p.b.bounds(), "PWD="+p.b.pkgDir)
	c.ExtraFiles = []*os.File{inR, outW}
	ownGroup(c)
	c.WaitDelay = time.Second // a process of the test may have left its group and keep the pipes
	var stderr tail
	c.Stdout, c.Stderr = &stderr, &stderr
	err = c.Start()
	inR.Close()
	outW.Close()
	if err != nil {
		inW.Close()
		outR.Close()
		return err
	}
	p.cmd, p.in, p.out = c, inW, outR
	p.r = newRecords(soon{outR})
	p.told, p.threads, p.asked = told{}, nil, batch{}
	p.guard.guards(c)
	return nil
}

// tail keeps the end of what a process prints outside of executions.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	if n := len(t.b); n > 8192 {
		t.b = slices.Clone(t.b[n-4096:])
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.b))
}

func (p *process) Close() error {
	if p.cmd == nil {
		return nil
	}
	p.guard.close()
	p.in.Close()
	if p.now == Fork && p.asked.left() == 0 {
		// It ends by itself, and then the time that its children have taken is known.
		c := p.cmd
		kill := time.AfterFunc(100*time.Millisecond, func() { killGroup(c) })
		p.out.Read(make([]byte, 1))
		kill.Stop()
	}
	killGroup(p.cmd)
	p.cmd.Wait()
	p.out.Close()
	p.cmd = nil
	return nil
}

func (p *process) Mode() Mode {
	if p.now == Auto {
		return p.mode
	}
	return p.now
}

// The flags of a command.
const (
	cmdFork = 1 << iota
	cmdBrief
	cmdPolls
	cmdWatch
	cmdProbe
	cmdMain
	cmdQuiet
	cmdCounts
	cmdSockets
	cmdBubbles
	cmdTimers
	cmdWatchWrites
	cmdLogs
)

// countsText is why an execution ends in which the test counts goroutines for the first time,
// socketsText of one that leaves the loopback, timersText of one that uses a timer of an
// initializer, logsText of one in which another goroutine logs than that of the test.
const (
	countsText  = "it counts goroutines"
	socketsText = "it needs real sockets"
	timersText  = "it uses a timer of an initializer"
	logsText    = "several goroutines log"
)

// watch asks for the stack of an access. Others of the same epoch may read what it has written.
type watch struct {
	epoch, object, offset uint64
	wrote                 bool
}

// Run implements [Process].
func (p *process) Run(ctx context.Context, prefix []Choice, pol Policy) (*Execution, error) {
	if p.cmd == nil || p.mode == Fresh {
		p.Close()
		if err := p.start(); err != nil {
			return nil, err
		}
	}
	fork := p.forks()
	x, w, err := p.run(ctx, prefix, pol, fork, nil)
	if err != nil && p.cmd == nil && (!p.heard || p.asked.left() > 0) && ctx.Err() == nil {
		// Perhaps it had ended before, or has ended in one of the executions that were asked for
		// with this one.
		if err := p.start(); err != nil {
			return nil, err
		}
		x, w, err = p.run(ctx, prefix, pol, fork, nil)
	}
	for d := new(Diverged); errors.As(err, &d) && p.b.names.needs(d.What); {
		x, w, err = p.run(ctx, prefix, pol, fork, nil)
	}
	if err != nil {
		return x, err
	}
	if p.now == Auto {
		p.now = Repeat
	}
	if x.WroteOutside && p.now == Repeat && p.mode != Fresh {
		// The next execution would not begin as this one has.
		p.now = Fork
		if !fork {
			p.Close()
		}
	}
	if w != nil && x.Failure != nil {
		choices := slices.Clone(prefix[:x.Known])
		for _, s := range x.Steps {
			choices = append(choices, s.Choice)
		}
		found, step := *x, len(x.Steps)-1
		found.Steps = slices.Clone(x.Steps)
		for i := range found.Steps {
			found.Steps[i].After = slices.Clone(found.Steps[i].After)
		}
		found.Output = slices.Clone(x.Output)
		found.First, found.Tests = slices.Clone(x.First), slices.Clone(x.Tests)
		p.words = nil // those are found's
		if p.cmd == nil {
			if err := p.start(); err != nil {
				return nil, err
			}
		}
		y, _, err := p.run(ctx, choices, pol, p.now == Fork, w)
		if err == nil && y.Failure != nil {
			found.Failure.Stacks = append(found.Failure.Stacks, y.Failure.Stacks[1:]...)
		}
		if step >= 0 {
			found.Steps[step].Failure = found.Failure
		}
		p.x = found
		if p.now == Repeat && x.WroteOutside {
			p.Close()
		}
		return &p.x, nil
	}
	return x, nil
}

// forks tells whether the next execution has a child of its own.
func (p *process) forks() bool { return p.now == Fork || p.now == Auto && p.mode != Fresh }

// Expect implements [Process].
func (p *process) Expect(prefix []Choice, pol Policy) {
	if p.cmd == nil || p.mode == Fresh || p.now == Auto {
		return
	}
	if err := p.command(prefix, pol, p.forks(), nil); err == nil {
		p.expected.push(p.buf)
	}
}

// command writes a command to p.buf.
func (p *process) command(prefix []Choice, pol Policy, fork bool, w *watch) error {
	var c [26]uint32
	if fork {
		c[0] |= cmdFork
	}
	if pol.Brief {
		c[0] |= cmdBrief
	}
	if pol.Quiet {
		c[0] |= cmdQuiet
	}
	if p.b.polls {
		c[0] |= cmdPolls
	}
	if p.b.bubbles {
		c[0] |= cmdBubbles
	}
	c[0] |= p.b.names.needed()
	if p.now != Fork && p.mode != Fresh {
		c[0] |= cmdProbe
	}
	if p.b.o.Main {
		c[0] |= cmdMain
	}
	c[1] = uint32(len(prefix))
	c[2] = uint32(pol.MaxSteps)
	if c[2] == 0 {
		c[2] = 1_000_000
	}
	c[3] = uint32(pol.Kind)
	c[4], c[5] = uint32(pol.Seed), uint32(pol.Seed>>32)
	c[6], c[7] = uint32(pol.Depth), uint32(pol.Length)
	if w != nil {
		c[0] |= cmdWatch
		if w.wrote {
			c[0] |= cmdWatchWrites
		}
		c[8], c[9] = uint32(w.epoch), uint32(w.epoch>>32)
		c[10], c[11] = uint32(w.object), uint32(w.object>>32)
		c[12], c[13] = uint32(w.offset), uint32(w.offset>>32)
	}
	limit := p.limits.Memory / 6
	c[14], c[15] = uint32(limit), uint32(limit>>32)
	c[16] = uint32(min(pol.Known, len(prefix)))
	c[17] = uint32(cmp.Or(pol.Readings, 16))
	c[25] = uint32(pol.Alarms)
	if pol.Kind == SURW {
		p.b.selected(pol.Select, c[18:])
	}
	p.buf = p.buf[:0]
	for _, v := range c {
		p.buf = binary.LittleEndian.AppendUint32(p.buf, v)
	}
	var n int
	if p.buf, n = p.b.names.appendChoices(p.buf, prefix); n < len(prefix) {
		return &Diverged{n, fmt.Sprintf("there is no thread %d", prefix[n].Thread)}
	}
	if pol.Kind == SURW {
		for _, w := range pol.Select.Weights {
			key, _ := p.b.key(w.Thread)
			p.buf = binary.LittleEndian.AppendUint64(p.buf, key)
			p.buf = binary.LittleEndian.AppendUint64(p.buf, uint64(w.Steps))
		}
	}
	return nil
}

func (p *process) run(ctx context.Context, prefix []Choice, pol Policy, fork bool,
	w *watch) (*Execution, *watch, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if err := p.command(prefix, pol, fork, w); err != nil {
		return nil, nil, err
	}
	p.guard.begin(ctx, time.Now().Add(p.limits.Step))
	defer p.guard.end()
	if p.asked.left() > 0 {
		if bytes.Equal(p.asked.take(), p.buf) {
			p.expected.clear()
			return p.read(ctx)
		}
		if err := p.skip(ctx); err != nil {
			return nil, nil, err
		}
		p.guard.begin(ctx, time.Now().Add(p.limits.Step))
	}
	p.asked.clear()
	p.asked.push(p.buf)
	for p.expected.left() > 0 {
		p.asked.push(p.expected.take())
	}
	p.expected.clear()
	binary.LittleEndian.PutUint32(p.asked.b[4*wordsAt:], uint32(len(p.asked.b)/4))
	p.asked.take()
	p.heard = false
	if _, err := p.in.Write(p.asked.b); err != nil {
		return p.died(ctx, err)
	}
	return p.read(ctx)
}

// skip skips the answers to what was taken last and to all that follows: something else is wanted
// than what was expected. They also tell what later ones refer to.
func (p *process) skip(ctx context.Context) error {
	for {
		_, _, err := p.read(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if p.cmd == nil || err != nil && !errors.As(err, new(*Diverged)) {
			p.Close()
			return p.start()
		}
		if p.asked.left() == 0 {
			return nil
		}
		p.asked.take()
	}
}

// wordsAt is the word of a command that says how many words are written at once.
const wordsAt = 24

// died says what became of a process that does not answer.
func (p *process) died(ctx context.Context, err error) (*Execution, *watch, error) {
	var text string
	if t, ok := p.cmd.Stderr.(*tail); ok {
		p.Close()
		text = t.String()
	}
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if p.guard.late() {
		p.x = Execution{End: TooLarge, Failure: &Failure{
			Kind: "limit", Message: fmt.Sprintf("the execution ran for more than %v",
				p.limits.Step)}}
		return &p.x, nil, nil
	}
	if text != "" {
		if len(text) > 2000 {
			text = text[:2000]
		}
		return nil, nil, fmt.Errorf("the test process has ended: %s", text)
	}
	return nil, nil, fmt.Errorf("the test process has ended: %w", err)
}

// The kinds of records.
const (
	recThread = iota + 1
	recLoc
	recStack
	recStep
	recPending
	recFailure
	recEnd
	recOutput
	recDied
	recTest
	recList
	recNext
	recEnded
	recForget
	recKnown
)

// The kinds of failures.
const (
	failRace = iota
	failPanic
	failFatal
	failTest
	failExit
	failLimit
	failDiverged
	failWait
	failThrow
	failWatched = 99
)

var failKinds = map[uint32]system.ViolationKind{failRace: "race", failPanic: "panic",
	failFatal: "fatal", failTest: "failed", failExit: "exit", failLimit: "limit"}

// fixed are the names of choices of which one alternative is taken, as those of package machine.
var fixed = [...]string{"the order in which maps are ranged over", "random numbers",
	"what sync.Pool keeps (all)",
	"when a goroutine that has nothing left to do is gone (at once)",
	"how often a loop reads the clock before time passes"}

// userThrows are how those errors of the run-time begin that are faults of the program, though the
// run-time does not report them as such, by its function fatal.
var userThrows = []string{"stack overflow", "out of memory", "runtime: out of memory",
	"runtime: cannot allocate memory", "sync: ", "checkptr: ", "runtime.SetFinalizer: ",
	"runtime.AddCleanup: ", "runtime.Pinner: "}

// programs tells whether an error that ends the run-time is the program's.
func programs(msg string) bool {
	return slices.ContainsFunc(userThrows, func(s string) bool { return strings.HasPrefix(msg, s) })
}

// crashes are the signals of Linux by which a run-time ends that has failed: SIGILL, SIGTRAP,
// SIGABRT, SIGBUS, SIGFPE, SIGSEGV.
var crashes = []uint32{4, 5, 6, 7, 8, 11}

func word(r []uint32) uint64 { return uint64(r[0]) | uint64(r[1])<<32 }

func text(r []uint32) (string, []uint32) {
	n := int(r[0])
	b := make([]byte, 0, n+3)
	for _, w := range r[1 : 1+(n+3)/4] {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return string(b[:n]), r[1+(n+3)/4:]
}

func words(r []uint32) []uint64 {
	pcs := make([]uint64, 0, len(r)/2)
	for ; len(r) >= 2; r = r[2:] {
		pcs = append(pcs, word(r))
	}
	return pcs
}

// The kinds of locations that matter here; see overlay/runtime_sched.go.txt.
const (
	locMet    = 7
	locExists = 8
	locEntry  = 16
)

// list notes a list of accesses.
func (t *told) list(r []uint32) error {
	l := list{accesses: make([]system.Access, len(r))}
	for i, w := range r {
		if int(w>>1) >= len(t.locs) {
			return fmt.Errorf("an access to location %d of %d", w>>1, len(t.locs))
		}
		l.accesses[i] = system.Access{Loc: t.locs[w>>1], Write: w&1 == 1}
		l.scans = l.scans || w&1 == 0 && t.kinds[w>>1] == locExists
	}
	t.lists = append(t.lists, l)
	return nil
}

// listOf returns a list that was told.
func (t *told) listOf(n uint32) (*list, error) {
	if int(n) >= len(t.lists) {
		return nil, fmt.Errorf("list %d of %d", n, len(t.lists))
	}
	return &t.lists[n], nil
}

// loc notes a location.
func (p *process) loc(r []uint32) {
	n := locName{kind: r[0], creator: -1, offset: word(r[3:]), sub: word(r[5:])}
	if o := word(r[1:]); o != 0 {
		n.creator, n.seq = p.threads[o>>30&(1<<14-1)].number, uint32(o&(1<<30-1))
	}
	if n.kind >= locEntry { // shares
		n.sub = uint64(p.threads[n.sub>>16].number)<<16 | n.sub&0xffff
	}
	p.told.locs = append(p.told.locs, system.Loc(p.b.locs.Number(n)))
	p.told.kinds = append(p.told.kinds, n.kind)
}

// stack notes a stack.
func (p *process) stack(r []uint32) {
	for int(r[0]) >= len(p.told.stacks) {
		p.told.stacks = append(p.told.stacks, stack{})
	}
	pcs := words(r[1:])
	p.told.stacks[r[0]] = stack{pcs, p.b.symbols.pos(pcs), p.b.symbols.inTest(pcs)}
}

// thread notes a thread of the execution.
func (p *process) thread(r []uint32) error {
	key := word(r[3:])
	if p.made < len(p.threads) && p.threads[p.made].key == key {
		p.made++
		return nil
	}
	parent := int32(r[1])
	if parent >= 0 {
		parent = p.threads[parent].number
	}
	fn, made := word(r[5:]), word(r[7:])
	t, err := p.b.thread(parent, r[2], key, func() string {
		f := p.b.symbols.function(fn)
		name := f.Func[strings.LastIndex(f.Func, "/")+1:]
		if _, after, ok := strings.Cut(name, "."); ok {
			name = after
		}
		if made != 0 {
			at := p.b.symbols.frame(made)
			return fmt.Sprintf("%s (made %s:%d)", name, filepath.Base(at.Pos.File),
				at.Pos.Line)
		}
		return name
	})
	p.threads = append(p.threads[:p.made], thread{key, t})
	p.made++
	return err
}

// step reads a step.
func (p *process) step(r []uint32) error {
	created := r[2]>>8&1 == 1
	at := p.told.stack(r[3])
	st := Step{Choice: Choice{p.threads[r[0]].number, int32(r[1])}, Op: Op(r[2]), Created: created,
		Now: int64(word(r[4:])), Hash: word(r[6:]),
		Timeout: created && Op(r[2]) == OpTimerSet && at.test && p.b.symbols.setsTimeout(at.pcs),
		Pos:     at.pos}
	if len(r) > 8 {
		l, err := p.told.listOf(r[8])
		if err != nil {
			return err
		}
		from, rest := len(p.words), r[9:]
		for _, a := range l.accesses {
			v := uint64(0)
			if a.Write {
				v, rest = word(rest), rest[2:]
			}
			p.words = append(p.words, v)
		}
		st.Accesses, st.Scans = l.accesses, l.scans && st.Op != OpStart
		st.Values = p.words[from:len(p.words):len(p.words)]
	}
	p.x.Steps = append(p.x.Steps, st)
	return nil
}

// pending notes what a thread may be about to do.
func (p *process) pending(r []uint32) error {
	l, err := p.told.listOf(r[6])
	if err != nil {
		return err
	}
	at := p.told.stack(r[3])
	q := Pending{Thread: p.threads[r[0]].number, Op: Op(r[1]), Enabled: int32(r[2]),
		Accesses: l.accesses, Scans: l.scans,
		AtEnd: r[1]>>17&1 == 1, Early: r[1]>>18&1 == 1, Deadline: int64(word(r[4:])), Pos: at.pos}
	for _, n := range r[7:] {
		if l, err = p.told.listOf(n); err != nil {
			return err
		}
		q.Alts = append(q.Alts, l.accesses)
		q.Scans = q.Scans || l.scans
	}
	q.Scans = q.Scans && q.Op != OpStart
	q.Sleeps = q.Op == OpSleep && at.test && strings.HasSuffix(q.Pos.File, "_test.go")
	p.told.pendings = append(p.told.pendings, q)
	return nil
}

// nexts notes what a thread is about to do now.
func (p *process) nexts(q Pending) {
	n := len(p.x.Steps)
	if n == 0 {
		p.x.First = append(p.x.First, q)
		return
	}
	if p.x.Steps[n-1].After == nil {
		p.from = len(p.changed)
	}
	p.changed = append(p.changed, q)
	p.x.Steps[n-1].After = p.changed[p.from:len(p.changed):len(p.changed)]
}

// read reads what an execution tells.
func (p *process) read(ctx context.Context) (*Execution, *watch, error) {
	p.made, p.words, p.changed, p.heard = 0, p.words[:0], p.changed[:0], false
	p.x = Execution{First: p.x.First[:0], Steps: p.x.Steps[:0], Tests: p.x.Tests[:0]}
	x := &p.x
	var failure *Failure
	var watched *watch
	var waiting []Stack
	var why, broken string
	ended := false
	for !ended {
		kind, r, err := p.r.next()
		if err != nil {
			return p.died(ctx, err)
		}
		p.heard = true
		switch kind {
		case recThread:
			if err := p.thread(r); err != nil {
				return nil, nil, err
			}
		case recLoc:
			p.loc(r)
		case recStack:
			p.stack(r)
		case recList:
			if err := p.told.list(r); err != nil {
				return nil, nil, err
			}
		case recKnown:
			x.Known, x.Past = int(r[0]), word(r[1:])
		case recStep:
			if err := p.step(r); err != nil {
				return nil, nil, err
			}
		case recPending:
			if err := p.pending(r); err != nil {
				return nil, nil, err
			}
		case recNext:
			if int(r[1]) >= len(p.told.pendings) {
				return nil, nil, fmt.Errorf("pending %d of %d", r[1], len(p.told.pendings))
			}
			p.nexts(p.told.pendings[r[1]])
		case recEnded:
			p.nexts(Pending{Thread: p.threads[r[0]].number, Ended: true})
		case recForget:
			p.told.forget()
		case recFailure:
			msg, rest := text(r[9:])
			thread, pcs := int32(rest[0]), p.b.symbols.faulted(words(rest[1:]))
			if n := int(thread) & (1<<14 - 1); thread >= 0 && n < p.made {
				thread = p.threads[n].number
			}
			st := Stack{Thread: thread, Frames: p.b.symbols.stack(pcs)}
			switch r[0] {
			case failWait:
				st.What = waitsFor(Op(r[1]), word(r[3:]))
				waiting = append(waiting, st)
			case failWatched:
				if failure != nil {
					failure.Stacks = append(failure.Stacks, st)
				}
			case failDiverged:
				why = msg
			case failThrow:
				if !programs(msg) {
					broken = msg
					break
				}
				r[0] = failFatal
				fallthrough
			default:
				failure = &Failure{Kind: failKinds[r[0]], Message: msg, Pos: p.b.symbols.pos(pcs),
					Stacks: []Stack{st}}
				if r[0] == failExit {
					failure.Message = "os.Exit(" + msg + ")"
				}
				if r[0] == failRace {
					o, off := word(r[3:]), word(r[5:])
					creator, seq := int32(-1), uint32(0)
					if o != 0 {
						creator = p.threads[o>>30&(1<<14-1)].number
						seq = uint32(o & (1<<30 - 1))
					}
					failure.Object = p.b.objectName(creator, seq, off)
					verb := map[bool]string{false: "reads", true: "writes"}
					failure.Stacks[0].What = verb[r[7]&2 != 0]
					if msg == "" {
						failure.Message = fmt.Sprintf("data race: one goroutine %s what another %s",
							verb[r[7]&2 != 0], verb[r[7]&1 != 0])
						watched = &watch{word(r[1:]), o, off, r[7]&1 != 0}
					} else {
						failure.Message = "data race: " + msg + " are not ordered"
					}
				}
			}
		case recOutput:
			p.output = p.output[:0]
			for _, w := range r[1:] {
				p.output = binary.LittleEndian.AppendUint32(p.output, w)
			}
			x.Output = p.output[:r[0]]
		case recTest:
			name, rest := text(r[2:])
			why, _ := text(rest)
			x.Tests = append(x.Tests, TestEvent{TestEventKind(r[0]), p.threads[r[1]].number, name,
				why})
		case recEnd:
			x.End, x.Hash = End(r[0]), word(r[2:])
			x.WroteOutside = r[1]&1 != 0
			if r[1]&2 != 0 {
				x.Outside = []string{"files, sockets or processes"}
			}
			for i, what := range fixed {
				if r[1]>>(8+i)&1 == 1 {
					x.Fixed = append(x.Fixed, what)
				}
			}
			if r[1]&8 != 0 {
				p.told = told{}
			}
			ended = true
		case recDied:
			p.told = told{}
			died := fmt.Errorf("the process of an execution has ended with the status %#x", r[0])
			x.End = Crashed
			failure = &Failure{Kind: "fatal", Message: died.Error()}
			switch {
			case r[0] == 3<<8:
				return p.died(ctx, died)
			case r[0] == 2<<8 || slices.Contains(crashes, r[0]&0x7f):
				broken = died.Error()
			}
			ended = true
		}
	}
	if broken != "" {
		// What a child has said may still be on its way; it ends with a stack for each goroutine.
		time.Sleep(50 * time.Millisecond)
		if t, ok := p.cmd.Stderr.(*tail); ok && t.String() != "" {
			said, _, _ := strings.Cut(t.String(), "\n\n")
			broken += ": " + strings.Join(strings.Split(said, "\n"), "; ")
		}
		return nil, nil, &RuntimeFailed{broken}
	}
	if x.End == diverged {
		return x, nil, &Diverged{x.Len(), why}
	}
	switch x.End {
	case Deadlock, Leak:
		x.Failure = &Failure{Kind: system.Deadlock,
			Message: fmt.Sprintf("%d goroutines wait forever", len(waiting)), Stacks: waiting}
		if len(waiting) == 1 {
			x.Failure.Message = "1 goroutine waits forever"
		}
		for _, w := range waiting {
			for _, f := range w.Frames {
				if x.Failure.Pos.Line == 0 && p.b.symbols.users(f) {
					x.Failure.Pos = f.Pos
				}
			}
		}
	default:
		x.Failure = failure
		if n := len(x.Steps); n > 0 && failure != nil && x.End != TooLarge {
			x.Steps[n-1].Failure = failure
		}
	}
	return x, watched, nil
}
