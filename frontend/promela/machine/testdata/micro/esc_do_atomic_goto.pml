byte x; byte y;
init {
	{
		atomic {y = 1; if :: y==1 -> goto L :: else fi }
	} unless {
		do
			:: x == 1 -> x = 1 
			:: else -> break
		od;
		y = 0
	};
	L: skip
}
