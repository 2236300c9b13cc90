mtype = {a,b};
chan q=[1] of {mtype, byte}; chan rv = [0] of {byte}; byte g;
active proctype A(){ q!a,1; empty(q); rv!3; q!b,2; q!!a,0 }
active proctype B(){ byte x; mtype m; q?m,x; rv?x; q??b,x; q?<m,x> }
trace { q!a,_; q?a,g; rv!3; rv?_; do :: q!b,2 :: q?b,1 od }
