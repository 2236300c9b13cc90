/* Jobs that are handed to new processes as structures, by value: a worker changes its copy only,
   and sends it back. -D BUG lets it answer in the channel of the wrong job. */
mtype = { square, double, stop };
typedef Args { byte x; bit big };
typedef Job { mtype kind; Args args; chan answer };
chan a = [1] of { Job };
chan b = [1] of { Job };
Job first, second;
byte sum;

proctype Worker(Job job; byte times) {
	do
	:: times > 0 && job.kind == square -> job.args.x = job.args.x * job.args.x; times--
	:: times > 0 && job.kind == double -> job.args.x = 2 * job.args.x; times--
	:: times == 0 -> break
	od;
	job.args.big = job.args.x > 15;
	job.kind = stop;
#ifdef BUG
	if :: job.answer!job :: a!job fi
#else
	job.answer!job
#endif
}

init {
	Job j;
	first.kind = square; first.args.x = 2; first.answer = a;
	second.kind = double; second.args.x = 3; second.answer = b;
	atomic { run Worker(first, 2); run Worker(second, 2) };
	do
	:: a?j -> assert(j.args.x == 16 && j.args.big); sum = sum + j.args.x
	:: b?j -> assert(j.args.x == 12 && !j.args.big); sum = sum + j.args.x
	:: sum == 28 -> break
	od;
	assert(first.args.x == 2 && second.kind == double)
}

ltl both { <> (sum == 28) }
