/* Two processes write one variable and read the other, through buffers that are drained later: both
   can read the old value. */
#define NV 2
#define NP 2
#define FLUSH(p) \
	do \
	:: len(buf[p]) > 0 -> atomic { buf[p]?v,w; mem[v] = w } \
	:: empty(buf[p]) -> break \
	od

chan buf[NP] = [2] of { byte, byte };
byte mem[NV];
byte r0 = 9, r1 = 9;
byte done;

inline store(p, a, x) { buf[p]!a(x) }
inline load(p, a, r) {
	if
	:: buf[p]??[eval(a), _] -> assert(false)
	:: else -> r = mem[a]
	fi
}
active proctype drain0() { byte v, w; 
end: do :: buf[0]?v,w -> mem[v] = w od }
active proctype drain1() { byte v, w; 
end: do :: atomic { buf[1]?v,w -> mem[v] = w } od }
active proctype P0() { store(0, 0, 1); load(0, 1, r0); done++ }
active proctype P1() { store(1, 1, 1); load(1, 0, r1); done++ }
active proctype chk() { done == 2; assert(!(r0 == 0 && r1 == 0)) }
