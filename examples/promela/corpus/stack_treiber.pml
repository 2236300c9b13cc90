/* Treiber's stack with nodes that are used again: the ABA problem. A tag counts
   with each change of the top, and helps as long as it does not wrap. -D BUG leaves it
   out. */
#ifndef N
#define N 2
#endif
#ifdef BUG
#define TAG 0
#else
#define TAG 1
#endif
#define NIL 3
byte next[3] = { 1, 2, NIL };
byte top = 0, tag;
bool used[3];       /* held by a process */
hidden byte scratch;

inline pop(r) {
	do
	:: d_step { t = top; g = tag };
	   if
	   :: t == NIL -> r = NIL; break
	   :: else
	   fi;
	   n = next[t];
	   d_step {
	      if
	      :: top == t && (TAG == 0 || tag == g) -> top = n; tag = (tag + TAG) % 8; r = t
	      :: else -> r = NIL + 1
	      fi
	   };
	   if
	   :: r != NIL + 1 ->
	      assert(!used[r]);
	      used[r] = true;
	      break
	   :: else
	   fi
	od;
	t = 0; n = 0; g = 0
}

inline push(r) {
	used[r] = false;
	do
	:: d_step { t = top; g = tag };
	   next[r] = t;
	   d_step {
	      if
	      :: top == t && (TAG == 0 || tag == g) -> top = r; tag = (tag + TAG) % 8; done = true
	      :: else -> done = false
	      fi
	   };
	   if
	   :: done -> break
	   :: else
	   fi
	od;
	t = 0; g = 0; done = false
}

active [N] proctype P() {
	byte a, b, t, n, g;
	bool done;
	pop(a);
	if
	:: a != NIL ->
	   pop(b);
	   push(a);
	   if
	   :: b != NIL -> push(b)
	   :: else
	   fi
	:: else
	fi
}
