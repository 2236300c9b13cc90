/* Write-through caches on a bus that all hear: a write invalidates the others' copies. -D BUG:
   a write does not. */
#ifndef N
#define N 2
#endif
#ifndef R
#define R 2
#endif
byte mem, copy[N];
bool valid[N], bus;

active [N] proctype Processor() {
	byte r, k, v;
	for (r : 1 .. R) {
		if
		:: valid[_pid]
		:: !valid[_pid] -> atomic { !bus -> bus = true }; copy[_pid] = mem; valid[_pid] = true; bus = false
		fi;
		v = copy[_pid];
		atomic { !bus -> bus = true };
		mem = v + 1 + _pid;
		copy[_pid] = mem;
#ifndef BUG
		k = 0;
		do
		:: k < N -> if :: k != _pid -> valid[k] = false :: else fi; k++
		:: else -> break
		od;
#endif
		valid[_pid] = true;
		assert(copy[_pid] == mem);
		bus = false;
		d_step { !bus -> assert(!valid[_pid] || copy[_pid] == mem) }
	}
}
