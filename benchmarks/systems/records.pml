/* records.pml: records of 24 words are sorted in any order; the twin of records.model. */
#ifndef N
#define N 8
#endif
#ifndef WORDS
#define WORDS 24
#endif

typedef Record {
	byte key;
	byte data[WORDS]
}

Record file[N];

#define order(k) :: d_step {						\
		k < N - 1 && file[k].key > file[(k + 1) % N].key ->	\
		x = file[k].key;					\
		file[k].key = file[k + 1].key;				\
		file[k + 1].key = x;					\
		for (w : 0 .. WORDS - 1) {				\
			x = file[k].data[w];				\
			file[k].data[w] = file[k + 1].data[w];		\
			file[k + 1].data[w] = x				\
		}							\
		w = 0; x = 0 }

active proctype Writer() {
	byte k, w, x;
	d_step {
		for (k : 0 .. N - 1) {
			file[k].key = N - k;
			for (w : 0 .. WORDS - 1) { file[k].data[w] = (N - k) * (w + 1) }
		}
		k = 0; w = 0
	}
end:	do
	order(0)
	order(1)
	order(2)
	order(3)
	order(4)
	order(5)
	order(6)
	order(7)
	od
}
