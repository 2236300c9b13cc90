chan q=[1] of {byte};
active proctype A(){ q!1; q!2; q!3 }
active proctype B(){ byte x; q?x; q?x; end: q?x; x=1 }
notrace { q!1; if :: q!2; q!1 :: q!2; q!3 fi }
