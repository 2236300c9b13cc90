byte x; byte y;
init {
	{
		atomic { x = 1; goto L }
	} unless {
		x == 1; y = 1
	};
	L: y = 2
}
