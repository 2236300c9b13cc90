chan q=[1] of {byte};
active proctype A(){ q!1; q!2; q!3 }
active proctype B(){ byte x; q?x; q?x; end: q?x; x=1 }
trace { q!1; if :: q!2; q!1 :: q!3; q!3 fi; end: q!1 }
