/* A pipeline of stages with buffers of one, ended by 0: generate, add, multiply, sink. */
#ifndef K
#define K 5
#endif
#ifndef B
#define B 1
#endif
chan a = [B] of { byte };
chan b = [B] of { byte };
chan c = [B] of { byte };

active proctype Generate() { byte i; for (i : 1 .. K) { a!i } a!0 }

active proctype Add() {
	byte v;
	do
	:: a?v -> if :: v == 0 -> break :: else -> v = v + 1; b!v fi
	od;
	b!0
}

active proctype Double() {
	byte v;
	do
	:: b?v -> if :: v == 0 -> break :: else -> v = v * 2; c!v fi
	od;
	c!0
}

active proctype Sink() {
	byte v, last;
	do
	:: c?v ->
	   if
	   :: v == 0 -> break
	   :: else -> assert(v > last); last = v
	   fi
	od;
	assert(last == 2 * (K + 1))
}
