module culvert/pause

go 1.23
