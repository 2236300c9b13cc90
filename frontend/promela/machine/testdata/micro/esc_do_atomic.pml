byte x; byte y;
init {
	{
		atomic { y = 1; y = 2; y = 3 }
	} unless {
		do
			:: x == 1 -> x = 1 
			:: else -> break
		od;
		y = 0
	}
}
