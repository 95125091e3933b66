"""What a newcomer gets: every default beside what one would pick instead."""
