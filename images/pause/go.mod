module joinder/images/pause

go 1.24
